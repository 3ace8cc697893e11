#include "schedules/register_tiles.h"
#include "schedules/transposed/rungs.h"
#include "schedules/workloads.h"

namespace nestsmith::transposed {

/// 4 x 4 results for each thread in a 64 x 64 tile: 16 x 16 threads fill all 64 rows of both operands.
Schedule registers(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(accumulate_nt(shape, dtype), target);
  register_tiles(s, {.results = 4, .k = 16});
  return s;
}

} // namespace nestsmith::transposed
