#include "schedules/ladder/rungs.h"
#include "schedules/workloads.h"

namespace nestsmith::ladder {

/// A warp reads one element of A and 32 neighbouring elements of B in each step along k. A block computes 4
/// rows of 256 elements, so that its warps read each row of B once from memory and three times from L1. The
/// loads of 8 steps are issued together.
Schedule coalesced(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(gemm(shape, dtype), target);
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_thread] = s.split(i, {infer, 4});
  auto [j_block, j_thread] = s.split(j, {infer, 256});
  s.reorder({i_block, j_block, i_thread, j_thread});
  auto thread = s.fuse(i_thread, j_thread);
  s.reverse_compute_at(C, thread);
  s.bind(i_block, Axis::block_x);
  s.bind(j_block, Axis::block_y);
  s.bind(thread, Axis::thread_x);
  s.unroll_by(k, 8);
  return s;
}

} // namespace nestsmith::ladder
