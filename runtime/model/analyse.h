#pragma once
/// Makes the analysis of a plan (runtime/model/analysis.h).

#include "runtime/model/analysis.h"

#include <vector>

namespace nestsmith {

/// The figures of a kernel for which `analyse` executes it.
struct KernelFigures {
  /// As in `KernelAnalysis`. The statements, loads and buffers of the accesses are not used.
  model::Counters counters;
  std::optional<model::Counters> lowered;
  model::TrafficResult memory;
  double estimated_seconds = 0;
  Losses losses;
};

struct AnalysisOptions {
  std::uint64_t max_blocks = 64;          ///< maximum number of blocks to execute for the counts; 0: all
  std::uint64_t max_requests = 5'000'000; ///< `TrafficOptions::max_requests`
  unsigned host_threads = 0;
  /// The figures of an equal analysis, which are not computed again: one element for each kernel, or none.
  std::vector<KernelFigures> known = {};
};

/// Returns the value 1 for each scalar parameter. The counters execute the kernel with these values.
std::vector<Scalar> ones(const kernel::Kernel &kernel);

/// Returns the resources that a block of the kernel occupies. A thread has `registers` registers; 0: unknown.
LaunchResources launch_of(const kernel::Kernel &kernel, int registers);

/// Analyses `plan`, which is `source` lowered for one launch. All scalars are 1, beta included, so that loads
/// of C are not skipped. `compiled` has the resources of each kernel, or is empty. Throws UserError (usage) if
/// the arrays do not fit in the GPU's memory, or an SM cannot hold a block.
PlanAnalysis analyse(const Program &source, const kernel::Plan &plan, const Gpu &gpu,
                     const std::vector<KernelResources> &compiled, const AnalysisOptions &options = {});

/// The value of `AnalysisOptions::known` for an analysis equal to this one.
std::vector<KernelFigures> figures_of(const PlanAnalysis &analysis);

} // namespace nestsmith
