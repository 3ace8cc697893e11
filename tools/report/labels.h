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
  pictures,
  owners,
  owners_text,
  stored_by,
  copied_by,
  held_by,
  first_part,
  threads,
  thread,
  warp,
  lane,
  lanes,
  register_number,
  elements,
  nobody,
  accesses,
  accesses_text,
  bank,
  banks_text,
  wavefront,
  conflict,
  byte,
  sectors_text,
  unused_word,
  not_executed,
  occupancy,
  occupancy_text,
  registers,
  shared_memory,
  warps,
  blocks,
  of_most,
  is_limit,
  waves,
  full_waves,
  last_wave,
  waves_text,
  time_line,
  time_line_text,
  stage,
  prologue,
  steady,
  drain,
  skipped,
  barrier,
  wait,
  in_flight,
  last_ ///< the number of labels
};

/// The label in the language. A label may contain `{}` for one value.
std::string_view say(Label label, Language language);
std::string say(Label label, Language language, const std::string &value);
std::string_view code(Language language); ///< "en", for the attribute `lang`
/// The names of all languages, for the option --lang.
constexpr const char *language_codes[] = {"en", "ko"};

} // namespace nestsmith::cli::report
