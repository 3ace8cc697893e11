#include "schedules/workloads.h"
#include "schedules/worklog/rungs.h"

namespace nestsmith::worklog {

/// Kernel 1: 32 x 32 blocks; threadIdx.x walks down the rows.
Schedule naive(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(gemm(shape, dtype), target);
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_thread] = s.split(i, {infer, 32});
  auto [j_block, j_thread] = s.split(j, {infer, 32});
  s.reorder({i_block, j_block, i_thread, j_thread});
  s.reverse_compute_at(C, j_thread);
  s.bind(i_block, Axis::block_x);
  s.bind(j_block, Axis::block_y);
  s.bind(i_thread, Axis::thread_x);
  s.bind(j_thread, Axis::thread_y);
  return s;
}

} // namespace nestsmith::worklog
