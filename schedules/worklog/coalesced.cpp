#include "schedules/workloads.h"
#include "schedules/worklog/rungs.h"

namespace nestsmith::worklog {

/// Kernel 2: 1024 threads in a row for 32 x 32 elements; neighbouring threads compute neighbouring elements of
/// a row. The loads of 32 steps along k are issued together.
Schedule coalesced(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(gemm(shape, dtype), target);
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_thread] = s.split(i, {infer, 32});
  auto [j_block, j_thread] = s.split(j, {infer, 32});
  s.reorder({i_block, j_block, i_thread, j_thread});
  auto thread = s.fuse(i_thread, j_thread);
  s.reverse_compute_at(C, thread);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  s.unroll_by(k, 32);
  return s;
}

} // namespace nestsmith::worklog
