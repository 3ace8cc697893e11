#include "schedules/principles/rungs.h"
#include "schedules/register_tiles.h"
#include "schedules/workloads.h"

namespace nestsmith::principles {

/// 64 x 64 tiles, 16 x 16 threads of 4 x 4 results: 16 FLOP/byte, 32 KB of shared memory.
Schedule tile64(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(gemm(shape, dtype), target);
  register_tiles(s, {.results = 4, .k = 64, .unroll_k = false});
  return s;
}

} // namespace nestsmith::principles
