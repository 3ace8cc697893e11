#pragma once
/// An analysis in words: pure functions from figures to text.

#include "runtime/model/analysis.h"

#include <string>
#include <vector>

namespace nestsmith {

/// How a figure is known, as the profiler's reader should take it.
///   exact     a property of the lowered kernel, or of the GPU
///   modelled  by a model that stands in its header
///   bound     the least that it can be, by the GPU's documented rates
///   unknown   not to be had here: the value says n/a
enum class Known : std::uint8_t { exact, modelled, bound, unknown };
std::string_view name(Known known);

struct Fact {
  std::string label; ///< "Registers per thread"
  std::string value; ///< "33, allocated as 40"
  Known known = Known::exact;
};

/// A section as the profiler has it.
struct Section {
  std::string title;
  std::vector<Fact> facts;
};

/// Speed of light, memory workload, occupancy and launch of one kernel. `whole` is the plan that it is of.
std::vector<Section> sections(const KernelAnalysis &kernel, const PlanAnalysis &whole);

/// Intensities and what they allow, of the whole plan.
Section roofline(const PlanAnalysis &analysis);

/// One access among all of a plan, as it is named to the user.
struct AccessName {
  std::size_t number = 0; ///< from 1, through all kernels
  std::size_t kernel = 0, access = 0;
  std::string text; ///< "load of A", "store to C"
};
/// All, in the order of the text.
std::vector<AccessName> accesses(const PlanAnalysis &analysis);
/// Those that are executed, the one that costs the most clocks first.
std::vector<AccessName> hottest(const PlanAnalysis &analysis);
/// "32 sectors", "1 wavefronts": what a request of it takes in the mean.
std::string per_request(const model::AccessCounts &access);

/// What became of the least time from one plan to another.
enum class Outcome : std::uint8_t { better, same, worse };
Outcome outcome(const PlanAnalysis &before, const PlanAnalysis &after);

/// In plain words: what limits it and by how much, and what would be next.
std::string in_words(const PlanAnalysis &analysis);
/// In plain words: what changed from `before`, which limiter moved, and why that helps or does not.
/// It starts with "better", "no gain" or "worse", and goes on with "because".
std::string in_words(const PlanAnalysis &before, const std::string &name, const PlanAnalysis &after);

/// "12.3 ms", "9.5 MB", "1.2 G": four digits at most.
std::string seconds_text(double seconds);
std::string bytes_text(double bytes);
std::string count_text(double count);
std::string number_text(double value);  ///< "0.25"
std::string percent_text(double ratio); ///< "61 %"

} // namespace nestsmith
