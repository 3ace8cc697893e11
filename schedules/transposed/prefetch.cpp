#include "schedules/transposed/post_tiles.h"
#include "schedules/transposed/rungs.h"
#include "schedules/vector_tiles.h"
#include "schedules/workloads.h"

namespace nestsmith::transposed {

/// Both tiles have two buffers: the next tile is loaded into registers while this one is used, and stored after
/// it. This takes one barrier for each tile instead of two, and twice the shared memory.
Schedule prefetch(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  Schedule s(accumulate_nt(shape, dtype), target);
  bool vectors = !float4_variant(shape, dtype);
  PostTiles tiles = choose_tiles(knobs, {.width = vectors ? 4 : 1, .buffers = 2}, dtype, target);
  vector_tiles(
      s, {.results = tiles.btsz, .k = tiles.wid, .vectors = vectors, .prefetch = true, .side = tiles.tilesz},
      "j, k -> k, j");
  return s;
}

} // namespace nestsmith::transposed
