#include "schedules/principles/rungs.h"
#include "schedules/workloads.h"

namespace nestsmith::principles {

/// 2 x 2 results for each thread: each element in a register is used twice, 0.5 FLOP/byte.
Schedule two_by_two(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(gemm(shape, dtype), target);
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_thread, i_result] = s.split(i, {infer, 16, 2});
  auto [j_block, j_thread, j_result] = s.split(j, {infer, 16, 2});
  s.reorder({i_block, j_block, i_thread, j_thread, k, i_result, j_result});
  s.reverse_compute_at(C, j_thread);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(i_thread, Axis::thread_y);
  s.bind(j_thread, Axis::thread_x);
  for (const char *operand : {"A", "B"}) {
    auto fragment = s.cache_read(AB, operand, Scope::local);
    s.compute_at(fragment, k);
    for (const Loop &loop : s.loops_below(fragment, k))
      s.unroll(loop);
  }
  s.unroll(i_result);
  s.unroll(j_result);
  return s;
}

} // namespace nestsmith::principles
