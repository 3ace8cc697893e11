#include "schedules/register_tiles.h"
#include "schedules/workloads.h"
#include "schedules/worklog/rungs.h"

namespace nestsmith::worklog {

/// Kernel 5: 128 x 128 x 8 tiles, 8 x 8 results for each thread, operands of one step of k in registers.
Schedule tile2d(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(gemm(shape, dtype), target);
  register_tiles(s, {.results = 8, .k = 8});
  return s;
}

} // namespace nestsmith::worklog
