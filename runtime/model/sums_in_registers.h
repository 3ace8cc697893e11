#pragma once
/// Promotion of sums from memory to registers, which every CUDA compiler applies to a lowered kernel.

#include "lowering/kernel.h"

#include <map>
#include <string>
#include <vector>

namespace nestsmith {

struct SumsInRegisters {
  kernel::Kernel kernel;
  std::vector<std::string> buffers; ///< with promoted sums, without duplicates; empty: unchanged
  /// The original statement of each new statement.
  std::map<const kernel::StmtNode *, kernel::Stmt> origin;
};

///     for k: C[i] = C[i] + e     =>     r = C[i]; for k: r = r + e; C[i] = r
///
/// Also applies to a loop around a guard that does not depend on the loop. Requires that no other statement in
/// the loop accesses the buffer, that the loop has no barrier, and that `i` does not depend on the loop.
/// Parameters are __restrict__, so the compiler has the same information.
SumsInRegisters sums_in_registers(const kernel::Kernel &kernel);

} // namespace nestsmith
