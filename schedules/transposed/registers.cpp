#include "schedules/register_tiles.h"
#include "schedules/transposed/post_tiles.h"
#include "schedules/transposed/rungs.h"
#include "schedules/workloads.h"

namespace nestsmith::transposed {

/// 4 x 4 results for each thread in a 64 x 64 tile: 16 x 16 threads fill all 64 rows of both operands.
/// The knobs are the sizes of the post.
Schedule registers(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  Schedule s(accumulate_nt(shape, dtype), target);
  PostTiles tiles = choose_tiles(knobs, {}, dtype, target);
  register_tiles(s, {.results = tiles.btsz, .k = tiles.wid, .side = tiles.tilesz});
  return s;
}

} // namespace nestsmith::transposed
