#pragma once
/// The 2-D register tiling that several tutorials climb to, each with its own numbers.

#include "dsl/schedule.h"

namespace nestsmith {

struct RegisterTiles {
  std::int64_t results; ///< a thread computes results x results elements
  std::int64_t k;       ///< the tiles of both operands are this long along k
  bool unroll_k = true; ///< whether the steps of a tile are written out
};

/// For a product whose sum is the stage AB and whose result is C: 16 x 16 threads compute a tile of
/// 16*results squared. A batch of products goes to blockIdx.z. Tiles of A and B go through shared memory, the
/// operands of one step of k and all results through registers.
void register_tiles(Schedule &s, RegisterTiles tiles);

} // namespace nestsmith
