#pragma once
/// What a lowered schedule is run on: the simulator or a GPU.

#include "dsl/array.h"
#include "lowering/plan.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// What came of one launch, besides the arrays.
struct Execution {
  /// Faults of the kernels, a sentence each: races, accesses out of bounds, reads of memory nobody
  /// wrote, a damaged guard band. Empty: none.
  std::vector<std::string> findings;
};

class Executor {
public:
  virtual ~Executor() = default;
  virtual std::string_view name() const = 0; ///< "simulated", or the device's
  /// Launches the kernels of `plan` once, in order, on an array for each parameter and a value for each
  /// scalar, and writes the arrays of role output and inout back. Nothing is known of what a workspace holds
  /// before its first store. Throws UserError (no_device) where it cannot launch.
  virtual Execution run(const kernel::Plan &plan, std::span<Array> arrays, std::span<const Scalar> scalars) = 0;
};

} // namespace nestsmith
