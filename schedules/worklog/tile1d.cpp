#include "schedules/fetch.h"
#include "schedules/workloads.h"
#include "schedules/worklog/rungs.h"

namespace nestsmith::worklog {

/// Kernel 4: 64 x 64 x 8 tiles, 8 results of a column for each thread.
Schedule tile1d(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(gemm(shape, dtype), target);
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_thread, i_result] = s.split(i, {infer, 8, 8});
  auto [j_block, j_thread] = s.split(j, {infer, 64});
  auto [k_outer, k_inner] = s.split(k, {infer, 8});
  s.reorder({i_block, j_block, i_thread, j_thread, k_outer, k_inner, i_result});
  auto thread = s.fuse(i_thread, j_thread);
  s.reverse_compute_at(C, thread);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  auto B_shared = s.cache_read(AB, "B", Scope::shared), b = s.cache_read(AB, s.name(B_shared), Scope::local);
  s.compute_at(b, k_inner);
  fetch_tile(s, AB, "A", k_outer, 512);
  fetch_tile(s, B_shared, k_outer, 512);
  s.unroll(k_inner);
  s.unroll(i_result);
  return s;
}

} // namespace nestsmith::worklog
