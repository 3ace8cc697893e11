#include "schedules/transposed/rungs.h"
#include "schedules/vector_tiles.h"
#include "schedules/workloads.h"

namespace nestsmith::transposed {

/// Both tiles have two buffers: the next tile is loaded into registers while this one is used, and stored after
/// it. This takes one barrier for each tile instead of two, and twice the shared memory.
Schedule prefetch(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(accumulate_nt(shape, dtype), target);
  bool vectors = !float4_variant(shape, dtype);
  vector_tiles(s, {.results = 4, .k = 16, .vectors = vectors, .prefetch = true}, "j, k -> k, j");
  return s;
}

} // namespace nestsmith::transposed
