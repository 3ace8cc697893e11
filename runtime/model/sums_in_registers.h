#pragma once
/// Moves accumulators of sums from memory to registers, because every CUDA compiler does the same with a
/// lowered kernel.

#include "lowering/kernel.h"

#include <map>
#include <string>
#include <vector>

namespace nestsmith {

struct SumsInRegisters {
  kernel::Kernel kernel;
  /// Buffers of the moved accumulators, without duplicates; empty if nothing changed.
  std::vector<std::string> buffers;
  /// For each new statement, the original statement.
  std::map<const kernel::StmtNode *, kernel::Stmt> origin;
};

///     for k: C[i] = C[i] + e     =>     r = C[i]; for k: r = r + e; C[i] = r
///
/// Also applies to a loop around a guard that does not depend on the loop. Requires that no other statement in
/// the loop accesses the buffer, that the loop has no barrier, and that `i` does not depend on the loop.
/// Parameters are __restrict__, so the compiler has the same information.
SumsInRegisters sums_in_registers(const kernel::Kernel &kernel);

} // namespace nestsmith
