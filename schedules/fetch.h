#pragma once
/// What most rungs do in the same way.

#include "dsl/schedule.h"

namespace nestsmith {

/// A tile of `operand` is brought into shared memory in each iteration of `at` by `threads` threads on
/// threadIdx.x: neighbouring threads take neighbouring elements of a row, and where the tile has more
/// elements than there are threads, each takes several, `threads` apart. The tile's elements must be a
/// multiple of `threads`. Gives the block that fills the tile.
BlockRef fetch_tile(Schedule &s, BlockRef reader, const std::string &operand, Loop at, std::int64_t threads);

/// The same for a block that was cached before, so that something else could be cached from it.
void fetch_tile(Schedule &s, BlockRef tile, Loop at, std::int64_t threads);

/// The same with four neighbours of a row for each thread at a time. Gives the loop over the four, to be
/// vectorized or unrolled. The tile's rows must be multiples of 4, and its elements of 4*`threads`.
Loop fetch_by_four(Schedule &s, BlockRef tile, Loop at, std::int64_t threads);

} // namespace nestsmith
