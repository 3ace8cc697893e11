#include "schedules/softmax/across.h"
#include "schedules/softmax/rungs.h"
#include "schedules/workloads.h"

namespace nestsmith::softmax_rows {

/// One warp for each row: the lanes read neighbouring elements, and shuffles combine their results.
Schedule warp(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(softmax(shape, dtype), target);
  auto [blocks, row] = s.split(s.loops(s.block("largest"))[0], {infer, 4});
  s.bind(blocks, Axis::block_x);
  s.bind(row, Axis::warp);
  by_threads(s, row, Axis::lane, 32);
  return s;
}

} // namespace nestsmith::softmax_rows
