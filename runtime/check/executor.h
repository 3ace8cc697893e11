#pragma once
/// Executors of lowered schedules: the simulator or a GPU.

#include "dsl/expr/error.h"
#include "dsl/ir/array.h"
#include "dsl/ir/residues.h"
#include "lowering/plan.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// The diagnostics of one launch. The results are in the arrays.
struct Execution {
  /// Faults of the kernels, one sentence each: races, out-of-bounds accesses, reads of unwritten memory, a
  /// damaged guard band.
  std::vector<std::string> diagnostics;
};

class Executor {
public:
  virtual ~Executor() = default;
  virtual std::string_view name() const = 0; ///< "simulated", or the name of the device
  /// Launches the kernels of `plan` once, in order, with an array for each parameter and a value for each
  /// scalar. Writes the output and inout arrays back. The initial content of workspaces is undefined. Throws
  /// UserError (no_device) if the launch is not possible.
  virtual Execution run(const kernel::Plan &plan, std::span<Array> arrays, std::span<const Scalar> scalars) = 0;
  virtual bool has_residues() const { return false; } ///< whether it has `run_residues`
  /// The same with residues in the place of floating-point numbers (dsl/ir/residues.h), in the arrays and
  /// scalars too.
  virtual Execution run_residues(Arithmetic /*arithmetic*/, const kernel::Plan & /*plan*/,
                                 std::span<Array> /*arrays*/, std::span<const Scalar> /*scalars*/) {
    internal_error("the executor has floating-point numbers only");
  }
};

} // namespace nestsmith
