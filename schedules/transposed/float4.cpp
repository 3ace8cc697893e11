#include "schedules/transposed/post_tiles.h"
#include "schedules/transposed/rungs.h"
#include "schedules/variant.h"
#include "schedules/vector_tiles.h"
#include "schedules/workloads.h"

namespace nestsmith::transposed {

/// Rows of A and B have K elements, those of C have N.
std::optional<Variant> float4_variant(const Shape &shape, DType) {
  return scalar_unless_multiples(shape, {{"N", 1}, {"K", 2}}, 4);
}

/// The register tiles with float4 accesses. Both operands are transposed on their way into shared memory and
/// read from there four at a time. C is stored four at a time, too.
Schedule float4(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  Schedule s(accumulate_nt(shape, dtype), target);
  bool vectors = !float4_variant(shape, dtype);
  PostTiles tiles = choose_tiles(knobs, {.width = vectors ? 4 : 1}, dtype, target);
  vector_tiles(s, {.results = tiles.btsz, .k = tiles.wid, .vectors = vectors, .side = tiles.tilesz},
               "j, k -> k, j");
  return s;
}

} // namespace nestsmith::transposed
