#pragma once
/// Code that two nests of one launch share. A thread block executes one of the nests, which are often the same
/// but for numbers: how many tiles of k a block multiplies, and which ones. Two large loops that
/// multiprocessors execute side by side evict each other from their cache of instructions, and one loop does
/// not:
///
///     if (block < 384) {                             const int steps = block < 384 ? 256 : 232,
///       for (k = 0; k < 256; ++k) …(bx * 128…);                rows = block < 384 ? bx * 128 : bx_1 * 128 +
///       3072; C = …;                                 =>    for (k = 0; k < steps; ++k) …(rows…);
///     } else {                                       if (block < 384)
///       for (k = 0; k < 232; ++k) …(bx_1 * 128…);      C = …;
///       parts = …;                                   else
///     }                                                parts = …;
///
/// The shared code with the values of one nest is the code of this nest: that is how it is made.

#include "lowering/kernel.h"

#include <map>

namespace nestsmith::kernel {

/// The bodies of two nests: declarations of their block indices first, which do not vary within a block. No
/// variable is declared in both.
struct TwoNests {
  Expr is_first; ///< whether the thread block executes the first nest
  Stmt first, second;
  std::map<Buffer, Buffer> arrays; ///< for arrays of the second nest: the one of the first that has their place
};
/// One body. It declares the block indices of both nests. `arrays` gets the registers of the second nest for
/// which it has those of the first.
Stmt with_shared_code(TwoNests &nests);

} // namespace nestsmith::kernel
