#pragma once
/// Measurement of a figure: the counts of a rung and its analysis.

#include "runtime/model/analysis.h"
#include "schedules/rung.h"

#include <string>

namespace nestsmith::figure {

/// Counts of a schedule with one kernel.
struct RungCounts {
  kernel::Kernel kernel;
  model::Counters counters;
  double results = 0; ///< elements that the grid's threads store to global memory, ignoring guards

  /// The sums over the accesses of one buffer in one direction.
  model::RequestSums access(const std::string &buffer, bool stores = false) const;
};
RungCounts measure(const Schedule &schedule, std::uint64_t max_blocks = 64);
RungCounts measure(const std::string &rung, const Shape &shape, Arch arch = {80});

/// The rung with this full name.
const Rung &find_rung(const std::string &name);
/// The analysis of a rung, with register counts if NVRTC supports the GPU.
PlanAnalysis analyse_rung(const std::string &name, const Shape &shape, const Gpu &gpu,
                          std::uint64_t max_requests = 5'000'000, DType dtype = DType::f32);

/// The occupancy by cuda_occupancy.h; in a build without it, from threads, blocks and shared memory.
Occupancy occupancy_of(const Gpu &gpu, const LaunchResources &launch);

} // namespace nestsmith::figure
