#pragma once
/// A compiled plan on a device: executes its kernels on host arrays with guard bands, and measures their time.

#include "dsl/ir/array.h"
#include "lowering/plan.h"
#include "runtime/check/stored_array.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/measure.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/tensor_map.h"

#include <span>
#include <string>
#include <vector>

namespace nestsmith::cuda {

class GpuPlan {
public:
  /// `compiled` has one element for each kernel of the plan.
  GpuPlan(const Device &device, kernel::Plan plan, const std::vector<Compiled> &compiled);

  /// Executes the kernels once, in order, on copies of `arrays` (one for each parameter, in order) with
  /// `scalars`, and writes the output and inout arrays back.
  ///
  /// Before a run, outputs and workspaces are filled with a poison value, counters with zeros, and every buffer
  /// is placed between two guard bands. Returns the faults of the kernels, one sentence each: an unwritten
  /// element of an output, a write outside of a buffer, a write to an input. As f32, the guard bands and the
  /// poison value are NaN, so that a read of them changes the result. For a fault such as an illegal address,
  /// throws UserError (wrong_result); the device is unusable afterwards.
  std::vector<std::string> run(std::span<Array> arrays, std::span<const Scalar> scalars) const;

  /// Enqueues the kernels once. `addresses` are the addresses of the parameters, followed by those of the
  /// workspaces.
  void enqueue(std::span<const Address> addresses, std::span<const Scalar> scalars) const;
  std::vector<Memory> allocate_workspaces() const; ///< counters are zero

  /// The time of all kernels in ms, on copies of `arrays`; nothing is written back.
  Spread time(std::span<const Array> arrays, std::span<const Scalar> scalars,
              const MeasureOptions &options = single_launches) const;

private:
  struct Stage {
    std::string name;
    Module module;
    FunctionHandle function;
    std::array<std::int64_t, 3> grid, block;
    std::int64_t shared_bytes;          ///< dynamic shared memory of the launch
    bool early;                         ///< it may start while the kernel before it ends
    std::vector<std::size_t> arguments; ///< positions among parameters and workspaces
    std::vector<std::size_t> scalars;
    /// Arguments after all others, with the positions of their arrays among parameters and workspaces.
    std::vector<std::pair<std::size_t, ArrayMap>> maps;
  };
  void check_arguments(std::size_t arrays, std::size_t scalars) const;
  /// Arrays of the shapes of the workspaces.
  std::vector<Array> workspaces() const;

  const Device &device_;
  kernel::Plan plan_;
  std::vector<StoredArray> params_;
  std::vector<Stage> stages_;
};

} // namespace nestsmith::cuda
