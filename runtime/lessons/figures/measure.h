#pragma once
/// How the figures are had: a rung's counts, and what is said of them.

#include "runtime/model/analysis.h"
#include "schedules/rung.h"

#include <string>

namespace nestsmith::figure {

/// The only kernel of a schedule, counted.
struct RungCounts {
  kernel::Kernel kernel;
  model::Counters counters;
  double results = 0; ///< elements that the grid's threads store to global memory, guards or not

  /// The accesses of one buffer in one direction, summed.
  model::RequestSums access(const std::string &buffer, bool stores = false) const;
};
RungCounts measure(const Schedule &schedule, std::uint64_t max_blocks = 64);
RungCounts measure(const std::string &rung, const Shape &shape, const std::string &arch = "sm_80");

/// The rung of this full name.
const Rung &find_rung(const std::string &name);
/// Its analysis, with registers where NVRTC knows the GPU.
PlanAnalysis analyse_rung(const std::string &name, const Shape &shape, const Gpu &gpu,
                          std::uint64_t max_requests = 5'000'000);

/// By cuda_occupancy.h, or where this build has none, by what is known without it.
Occupancy occupancy_of(const Gpu &gpu, const LaunchResources &launch);

} // namespace nestsmith::figure
