#pragma once
/// What a lowered kernel is run on: the simulator or a GPU.

#include "dsl/array.h"
#include "lowering/kernel.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// What came of one launch, besides the arrays.
struct Execution {
  /// Faults of the kernel, a sentence each: races, accesses out of bounds, reads of memory nobody
  /// wrote, a damaged guard band. Empty: none.
  std::vector<std::string> findings;
};

class Executor {
public:
  virtual ~Executor() = default;
  virtual std::string_view name() const = 0; ///< "simulated", or the device's
  /// Launches `kernel` once on an array for each parameter and a value for each scalar, and writes the
  /// arrays of role output and inout back. Throws UserError (no_device) where it cannot launch.
  virtual Execution run(const kernel::Kernel &kernel, std::span<Array> arrays,
                        std::span<const Scalar> scalars) = 0;
};

} // namespace nestsmith
