#pragma once
/// 2-D register tiling with 128-bit accesses: loads from global memory, reads of fragments from shared memory,
/// and stores of results access four elements at a time.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

namespace nestsmith {

struct VectorTiles {
  std::int64_t results;   ///< a thread computes results x results elements, a multiple of 4
  std::int64_t k;         ///< extent of the tiles of A and B along k
  bool vectors = true;    ///< false: the scalar variant, for possibly misaligned vectors
  bool prefetch = false;  ///< load the next tiles into registers before they are needed; then one barrier per
                          ///< tile is sufficient
  std::int64_t side = 16; ///< side x side threads
  /// false: a thread stores and reads elements of the tile of B one by one, because those of a thread are not
  /// contiguous there, or not aligned
  bool b_by_four = true;
};

/// Schedules a product with the sum AB and the result C: side x side threads compute a tile of (side*results) x
/// (side*results). In both shared tiles, each row contains the elements of one k, so that the elements that a
/// thread reads for one k (its fragment) are contiguous. If an operand is contiguous along k in global memory,
/// the copy transposes it. `b_layout` is the index map of the tile of B.
void vector_tiles(Schedule &s, VectorTiles tiles, const char *b_layout);

} // namespace nestsmith
