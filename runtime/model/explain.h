#pragma once
/// Explanations of an analysis: pure functions from figures to text.

#include "runtime/model/analysis.h"
#include "runtime/model/quality.h"
#include "runtime/model/verdict.h"

#include <string>
#include <vector>

namespace nestsmith {

struct Fact {
  std::string label; ///< "Registers per thread"
  std::string value; ///< "33, allocated as 40"
  Quality quality = Quality::exact;
};

/// A section of the report, with a title as in the report of Nsight Compute.
struct Section {
  std::string title;
  std::vector<Fact> facts;
};

/// Speed of light, memory workload, occupancy, launch and roles of one kernel. `whole` is the analysis that
/// contains it.
std::vector<Section> sections(const KernelAnalysis &kernel, const PlanAnalysis &whole);

/// Intensities and attainable rates of the whole plan.
Section roofline(const PlanAnalysis &analysis);

/// The name of an access of a plan, for the user.
struct AccessName {
  std::size_t number = 0; ///< number of the access in the plan, from 1
  std::size_t kernel = 0, access = 0;
  std::string text; ///< "load of A", "store to C"
};
/// All accesses in the order of the text.
std::vector<AccessName> accesses(const PlanAnalysis &analysis);
/// The executed accesses, in descending order of clocks.
std::vector<AccessName> hottest(const PlanAnalysis &analysis);
/// Mean cost of a request: "32 sectors", "1 wavefront".
std::string per_request(const model::AccessCounts &access);

/// The limit of a kernel: the largest loss with its factor, such as "imbalance of the last wave, 1.27 times",
/// or the resource of the largest bound, such as "L1, 98 % of the estimated time".
std::string limit_text(const KernelAnalysis &analysis);

/// Plain text: the limiting resource, its margin, and the next limit.
std::string in_words(const PlanAnalysis &analysis);
/// Plain text: the verdict (verdict.h) and what speaks for it, the changes since `before`, and the change of
/// the limiter. Starts with "Better than NAME", "No gain over NAME" or "Worse than NAME".
std::string in_words(const PlanAnalysis &before, const std::string &name, const PlanAnalysis &after);

/// "12.3 ms", "9.5 MB", "1.2 G", with up to four digits.
std::string seconds_text(double seconds);
std::string bytes_text(double bytes);
std::string count_text(double count);
std::string number_text(double value);  ///< "0.25"
std::string percent_text(double ratio); ///< "61 %"

} // namespace nestsmith
