#pragma once
/// What every compiler of CUDA does to a sum in memory, which a kernel as it is lowered may have.

#include "lowering/kernel.h"

#include <map>
#include <string>
#include <vector>

namespace nestsmith {

struct SumsInRegisters {
  kernel::Kernel kernel;
  std::vector<std::string> buffers; ///< whose sums were moved, each once; empty: the kernel is as it was
  /// Of the statements that are new, the one that they are from.
  std::map<const kernel::StmtNode *, kernel::Stmt> origin;
};

/// for k: C[i] = C[i] + e   =>   r = C[i]; for k: r = r + e; C[i] = r
///
/// The same for a loop around a guard that does not depend on it. Only where nothing else in the loop touches
/// the buffer, no barrier stands in it, and `i` does not depend on it: parameters are __restrict__, so that the
/// compiler knows as much.
SumsInRegisters sums_in_registers(const kernel::Kernel &kernel);

} // namespace nestsmith
