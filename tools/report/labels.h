#pragma once
/// The labels of the page, in each language. Prose that the commands generate remains English.

#include <cstdint>
#include <string>
#include <string_view>

namespace nestsmith::cli::report {

enum class Language : std::uint8_t { en, ko };

enum class Label : std::uint8_t {
  source,
  teaches,
  continues,
  machine,
  contents,
  climb,
  climb_measured,
  climb_modelled,
  at_most,
  estimated,
  estimate,
  rung,
  rate,
  published_mark,
  published_cublas,
  roofline,
  roofline_text,
  intensity,
  at_dram,
  at_requests,
  run_table,
  why_better,
  why_same,
  why_worse,
  limits,
  figure,
  change,
  all_figures,
  differences,
  steps,
  directives,
  computation,
  step,
  previous,
  next,
  program,
  kernel,
  cuda,
  show_kernel,
  owed,
  not_lowered,
  no_links,
  links,
  refused,
  wrong,
  made_by,
  site_title,
  rungs_from_to,
  skip_to_rungs,
  last_ ///< the number of labels
};

/// The label in the language. A label may contain `{}` for one value.
std::string_view say(Label label, Language language);
std::string say(Label label, Language language, const std::string &value);
std::string_view code(Language language); ///< "en", for the attribute `lang`
/// The names of all languages, for the option --lang.
constexpr const char *language_codes[] = {"en", "ko"};

} // namespace nestsmith::cli::report
