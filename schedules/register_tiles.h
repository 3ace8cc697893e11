#pragma once
/// The 2-D register tiling that several tutorials use, with parameters for the sizes of the tiles.

#include "dsl/schedule/schedule.h"

namespace nestsmith {

struct RegisterTiles {
  std::int64_t results;   ///< a thread computes results x results elements
  std::int64_t k;         ///< extent of the tiles of A and B along k
  bool unroll_k = true;   ///< unroll the loop over the k steps of a tile
  std::int64_t side = 16; ///< side x side threads
};

/// Schedules a product with the sum AB and the result C: side x side threads compute a tile of (side*results) x
/// (side*results). A batch is bound to blockIdx.z. Tiles of A and B are in shared memory; the operands of one
/// step of k and all results are in registers.
void register_tiles(Schedule &s, RegisterTiles tiles);

} // namespace nestsmith
