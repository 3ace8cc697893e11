#include "schedules/ladder/rungs.h"
#include "schedules/variant.h"
#include "schedules/vector_tiles.h"
#include "schedules/workloads.h"

namespace nestsmith::ladder {

std::optional<Variant> vector_variant(const Shape &shape, DType) {
  return scalar_unless_multiples(shape, {{"N", 1}, {"K", 2}}, 4);
}

/// Both tiles have two buffers: the next tile is loaded into registers while this one is used, and stored after
/// it. This takes one barrier for each tile instead of two.
Schedule prefetch(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(gemm(shape, dtype), target);
  bool vectors = !vector_variant(shape, dtype);
  vector_tiles(s, {.results = 8, .k = 8, .vectors = vectors, .prefetch = true}, "k, j -> k, j//4%2, j//8, j%4");
  if (!shape.stated) // index arithmetic in sizes takes too many registers for two blocks
    s.launch_bounds(2);
  return s;
}

} // namespace nestsmith::ladder
