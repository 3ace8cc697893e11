#pragma once
/// The loops and the tiles of kernels 9 and 10 of the worklog.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

#include <vector>

namespace nestsmith::worklog {

/// The loops of a product, split and in order. A thread has the part of C below `thread`.
struct TileLoops {
  Loop i_block, j_block, thread, k_outer, k_inner;
  std::vector<Loop> results; ///< of a thread, in order
};

/// How the tiles are used.
struct TileUse {
  std::int64_t threads;  ///< of a block
  std::int64_t unrolled; ///< at most this number of steps of k are written out
  bool vectors;          ///< 128-bit accesses
  const char *b_layout;  ///< the index map of the tile of B
};

/// Binds the blocks and the threads. Fills the tiles of A and B, A transposed. Reads the operands of a step of
/// k into registers, and writes the results, four at a time.
void use_tiles(Schedule &s, const TileLoops &loops, TileUse use);

} // namespace nestsmith::worklog
