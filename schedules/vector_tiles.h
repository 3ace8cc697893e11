#pragma once
/// The 2-D register tiling with 128-bit accesses: tiles of global memory are loaded four elements at a time,
/// fragments are read so from shared memory, and results stored so.

#include "dsl/schedule.h"
#include "schedules/rung.h"

namespace nestsmith {

struct VectorTiles {
  std::int64_t results;  ///< a thread computes results x results elements, 4 or 8
  std::int64_t k;        ///< the tiles of both operands are this long along k
  bool vectors = true;   ///< false: the scalar variant, for shapes where a vector could be misaligned
  bool prefetch = false; ///< the next tiles are loaded into registers while these are used: one barrier a tile
};

/// For a product whose sum is the stage AB and whose result is C: 16 x 16 threads compute a tile of
/// 16*results squared. Both tiles lie in shared memory in rows of one k, so that a thread's fragments are
/// side by side; an operand that is read along k is transposed on its way in. `b_layout` is the index map of
/// B's tile.
void vector_tiles(Schedule &s, VectorTiles tiles, const char *b_layout);

} // namespace nestsmith
