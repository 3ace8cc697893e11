#pragma once
/// The verdict of a comparison of two plans: one rule for the words, the JSON and the pages.

#include "runtime/model/analysis.h"

#include <array>
#include <optional>
#include <string_view>

namespace nestsmith {

enum class Outcome : std::uint8_t { better, same, worse };
std::string_view name(Outcome outcome); ///< "better"

/// The source of the times that a verdict compares, the strongest first:
///   record    the measured times of both plans on this GPU, if they were measured under the same conditions
///             with the CUDA text that is emitted now
///   estimate  the estimated times, if both plans are compiled
///   bound     the least times
enum class Source : std::uint8_t { record, estimate, bound };
inline constexpr std::array sources = {Source::record, Source::estimate, Source::bound};
std::string_view name(Source source); ///< "record"

struct Verdict {
  Outcome outcome = Outcome::same;
  Source by = Source::bound;
  double ratio = 1; ///< the time of the second plan / that of the first
};

/// The verdict of one source. None if it has no times of both plans. Times are the same if they differ by less
/// than what the source resolves: 2 % or overlapping quartiles for a record, 10 % for an estimate, 3 % for a
/// bound.
std::optional<Verdict> verdict_by(Source source, const PlanAnalysis &before, const PlanAnalysis &after);
/// The verdict of the first source that has one.
Verdict verdict_of(const PlanAnalysis &before, const PlanAnalysis &after);

} // namespace nestsmith
