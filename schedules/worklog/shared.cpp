#include "schedules/fetch.h"
#include "schedules/workloads.h"
#include "schedules/worklog/rungs.h"

namespace nestsmith::worklog {

/// Kernel 3: 32 x 32 tiles of A and B in shared memory.
Schedule shared(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(gemm(shape, dtype), target);
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_thread] = s.split(i, {infer, 32});
  auto [j_block, j_thread] = s.split(j, {infer, 32});
  auto [k_outer, k_inner] = s.split(k, {infer, 32});
  s.reorder({i_block, j_block, i_thread, j_thread});
  auto thread = s.fuse(i_thread, j_thread);
  s.reverse_compute_at(C, thread);
  s.bind(i_block, Axis::block_x);
  s.bind(j_block, Axis::block_y);
  s.bind(thread, Axis::thread_x);
  fetch_tile(s, AB, "A", k_outer, 1024);
  fetch_tile(s, AB, "B", k_outer, 1024);
  s.unroll(k_inner);
  s.unroll_by(k_outer, 4);
  return s;
}

} // namespace nestsmith::worklog
