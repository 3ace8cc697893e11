#pragma once
/// A compiled plan on a device: runs its kernels on host arrays under guard, and times them.

#include "dsl/array.h"
#include "lowering/plan.h"
#include "runtime/check/stored_array.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/nvrtc.h"

#include <span>
#include <string>
#include <vector>

namespace nestsmith::cuda {

class GpuPlan {
public:
  /// `compiled` holds what became of each kernel of the plan.
  GpuPlan(const Device &device, kernel::Plan plan, const std::vector<Compiled> &compiled);

  /// Runs the kernels once, in order, on copies of `arrays` (one for each parameter, in order) with `scalars`,
  /// and writes those of role output and inout back.
  ///
  /// Outputs and workspaces start as poison, and every buffer lies between guard bands. Returns what the
  /// kernels did wrong, a sentence each: an element of an output that was never written, a write outside of a
  /// buffer, a write to an input. Guard bands and poison are NaN as f32, so that what is read from them shows.
  /// A fault (an illegal address, …) is a UserError (wrong_result); the device serves nothing after it.
  std::vector<std::string> run(std::span<Array> arrays, std::span<const Scalar> scalars) const;

  /// Times runs of all kernels on copies of `arrays`; nothing is written back.
  Timing time(std::span<const Array> arrays, std::span<const Scalar> scalars,
              const TimingOptions &options = {}) const;

private:
  struct Stage {
    std::string name;
    Module module;
    FunctionHandle function;
    std::array<std::int64_t, 3> grid, block;
    std::int64_t shared_bytes;          ///< named at launch
    std::vector<std::size_t> arguments; ///< positions among parameters and workspaces
    std::vector<std::size_t> scalars;
  };
  void check_arguments(std::size_t arrays, std::size_t scalars) const;
  /// `addresses`: of the parameters, then of the workspaces.
  void enqueue(std::span<const Address> addresses, std::span<const Scalar> scalars) const;
  /// What the workspaces are, as arrays.
  std::vector<Array> workspaces() const;

  const Device &device_;
  kernel::Plan plan_;
  std::vector<StoredArray> params_;
  std::vector<Stage> stages_;
};

} // namespace nestsmith::cuda
