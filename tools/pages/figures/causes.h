#pragma once
/// The causes of differences between published times and ours, from the counts and from the machine code.

#include "runtime/model/analysis.h"

#include <string>

namespace nestsmith::figure {

/// A rung with a published time.
struct PublishedTime {
  std::string name; ///< "step2"
  double seconds;
  const PlanAnalysis &analysis;
};

/// The numbers of instructions that a warp executes for each multiply-add, by the machine code of the slowest
/// kernel. All are 0 if the code cannot be read.
struct Executed {
  double instructions = 0, global_loads = 0, shared_loads = 0;
};
Executed executed(const KernelAnalysis &analysis);

/// The note of a prediction for the step between two rungs. `agrees`: the estimated times have the direction of
/// the published times. Empty if they agree, the least times do too, and neither published time is below the
/// least time.
std::string cause(const PublishedTime &before, const PublishedTime &after, bool agrees);

} // namespace nestsmith::figure
