#pragma once
/// The simulator as an executor.

#include "runtime/check/executor.h"
#include "runtime/sim/simulate.h"

namespace nestsmith {

class SimExecutor : public Executor {
public:
  explicit SimExecutor(sim::Options options = {}) : options_(options) {}
  std::string_view name() const override { return "simulated"; }
  /// Arrays are checked for bounds, races and unwritten reads, element by element.
  /// Kernels after one with findings are not run: what they would read is wrong already.
  Execution run(const kernel::Plan &plan, std::span<Array> arrays, std::span<const Scalar> scalars) override;
  const std::vector<sim::Finding> &found() const { return found_; } ///< in the last run
  const sim::Stats &stats() const { return stats_; }                ///< of the last run, all kernels together

private:
  sim::Options options_;
  sim::Stats stats_;
  std::vector<sim::Finding> found_;
};

} // namespace nestsmith
