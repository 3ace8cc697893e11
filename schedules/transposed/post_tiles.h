#pragma once
/// The sizes of the tiles of the later rungs, under the names of the post.

#include "schedules/rung.h"

namespace nestsmith::transposed {

/// TILESZ x TILESZ threads. Each computes BTSZ x BTSZ results, from tiles of A and B with WID steps of k.
struct PostTiles {
  std::int64_t tilesz, btsz, wid;
};

/// How the rung uses the tiles. Their sizes must permit it.
struct Fetch {
  std::int64_t width = 1;   ///< elements that a thread copies at a time
  std::int64_t buffers = 1; ///< of each tile in shared memory
};

/// Asks for the knobs `tilesz`, `btsz` and `wid`, whose defaults are the sizes of the post.
PostTiles choose_tiles(Knobs &knobs, Fetch fetch, DType dtype, const Target &target);

} // namespace nestsmith::transposed
