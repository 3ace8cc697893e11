#include "schedules/softmax/across.h"
#include "schedules/softmax/rungs.h"
#include "schedules/workloads.h"

namespace nestsmith::softmax_rows {

/// One thread block for each row: shuffles combine the results of a warp, and shared memory those of the warps.
/// A long row has more threads, so fewer rows fill the GPU.
Schedule block(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(softmax(shape, dtype), target);
  Loop row = s.loops(s.block("largest"))[0];
  s.bind(row, Axis::block_x);
  by_threads(s, row, Axis::thread_x, 256);
  return s;
}

} // namespace nestsmith::softmax_rows
