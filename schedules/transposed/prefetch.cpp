#include "schedules/transposed/rungs.h"
#include "schedules/vector_tiles.h"
#include "schedules/workloads.h"

namespace nestsmith::transposed {

/// Two buffers of both tiles: the next one is loaded into registers while this one is used, and stored after
/// it. One barrier a tile instead of two, for twice the shared memory.
Schedule prefetch(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(accumulate_nt(shape, dtype), target);
  bool vectors = !float4_variant(shape, dtype);
  vector_tiles(s, {.results = 4, .k = 16, .vectors = vectors, .prefetch = true}, "j, k -> k, j");
  return s;
}

} // namespace nestsmith::transposed
