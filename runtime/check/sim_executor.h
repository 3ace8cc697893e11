#pragma once
/// The simulator as an executor.

#include "runtime/check/executor.h"
#include "runtime/sim/simulate.h"

namespace nestsmith {

class SimExecutor : public Executor {
public:
  explicit SimExecutor(sim::Options options = {}) : options_(options) {}
  std::string_view name() const override { return "simulated"; }
  /// Checks bounds, races and unwritten reads for each element. If a kernel has diagnostics, the later kernels
  /// are not executed, because their inputs would be wrong.
  Execution run(const kernel::Plan &plan, std::span<Array> arrays, std::span<const Scalar> scalars) override;
  bool has_residues() const override { return true; }
  Execution run_residues(Arithmetic arithmetic, const kernel::Plan &plan, std::span<Array> arrays,
                         std::span<const Scalar> scalars) override;
  const std::vector<sim::Diagnostic> &found() const { return found_; } ///< diagnostics of the last run
  const sim::Stats &stats() const { return stats_; } ///< statistics of the last run, summed over the kernels

private:
  sim::Options options_;
  sim::Stats stats_;
  std::vector<sim::Diagnostic> found_;
};

} // namespace nestsmith
