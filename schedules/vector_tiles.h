#pragma once
/// 2-D register tiling with 128-bit accesses: loads from global memory, reads of fragments from shared memory,
/// and stores of results access four elements at a time.

#include "dsl/schedule.h"
#include "schedules/rung.h"

namespace nestsmith {

struct VectorTiles {
  std::int64_t results;  ///< a thread computes results x results elements, 4 or 8
  std::int64_t k;        ///< extent of both operands' tiles along k
  bool vectors = true;   ///< false: the scalar variant, for possibly misaligned vectors
  bool prefetch = false; ///< load the next tiles into registers ahead: one barrier per tile
};

/// Schedules a product with the sum AB and the result C: 16 x 16 threads compute a tile of 16*results squared.
/// Each row of both shared tiles holds one k, so that a thread's fragments are contiguous; an operand that is
/// contiguous along k is transposed by the copy. `b_layout` is the index map of B's tile.
void vector_tiles(Schedule &s, VectorTiles tiles, const char *b_layout);

} // namespace nestsmith
