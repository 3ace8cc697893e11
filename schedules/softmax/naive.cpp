#include "schedules/softmax/rungs.h"
#include "schedules/workloads.h"

namespace nestsmith::softmax_rows {

/// One thread for each row: the lanes of a warp read 32 rows, one line of memory for each.
Schedule naive(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(softmax(shape, dtype), target);
  BlockRef largest = s.block("largest"), total = s.block("total"), Y = s.block("Y");
  s.compute_inline(s.block("power"));
  s.set_scope(largest, Scope::local);
  s.set_scope(total, Scope::local);
  auto [blocks, row] = s.split(s.loops(largest)[0], {infer, 64});
  s.bind(blocks, Axis::block_x);
  s.bind(row, Axis::thread_x);
  s.reverse_compute_at(total, row);
  s.reverse_compute_at(Y, row);
  return s;
}

} // namespace nestsmith::softmax_rows
