#pragma once
/// Sentences of explanations, which have a text in each language. One function makes a sentence from its facts
/// and states its texts side by side, so that all languages say the same.

#include "runtime/model/analysis.h"

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>

namespace nestsmith {

enum class Language : std::uint8_t { en, ko };

/// The text in the language. Both are checked against the facts when they are compiled.
template <typename... Facts>
std::string say(Language language, fmt::format_string<Facts...> en, fmt::format_string<Facts...> ko,
                Facts &&...facts) {
  return fmt::format(language == Language::en ? en : ko, std::forward<Facts>(facts)...);
}

/// A text in each language.
struct Texts {
  std::string en, ko;
  const std::string &in(Language language) const { return language == Language::en ? en : ko; }
  friend bool operator==(const Texts &, const Texts &) = default;
};
template <typename... Facts>
Texts texts(fmt::format_string<const Facts &...> en, fmt::format_string<const Facts &...> ko,
            const Facts &...facts) {
  return {fmt::format(en, facts...), fmt::format(ko, facts...)};
}

/// Words without facts.
struct Words {
  std::string_view en, ko;
  std::string_view in(Language language) const { return language == Language::en ? en : ko; }
};

std::string_view name(Resource resource, Language language);
std::string_view name(Loss loss, Language language);
std::string_view name(OccupancyLimit limit, Language language);

/// As in explain.h, in the language.
std::string limit_text(const KernelAnalysis &analysis, Language language);
std::string in_words(const PlanAnalysis &analysis, Language language);
std::string in_words(const PlanAnalysis &before, const std::string &name, const PlanAnalysis &after,
                     Language language);

} // namespace nestsmith
