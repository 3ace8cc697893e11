#include "schedules/workloads.h"
#include "schedules/worklog/rungs.h"
#include "schedules/worklog/tiles.h"

namespace nestsmith::worklog {

/// Kernel 10: 128 x 128 x 16 tiles. Each of the 2 x 2 warps computes 64 x 64 results, in 4 parts of 64 x 16.
/// Its 8 x 4 lanes have 8 x 4 results of each part, so that a warp reads few different words of B at a time.
Schedule warp_tiles(const Shape &shape, DType dtype, const Target &target) {
  Schedule s(gemm(shape, dtype), target);
  auto AB = s.block("AB");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_warp, i_lane, i_result] = s.split(i, {infer, 2, 8, 8});
  auto [j_block, j_warp, j_part, j_lane, j_result] = s.split(j, {infer, 2, 4, 4, 4});
  auto [k_outer, k_inner] = s.split(k, {infer, 16});
  s.reorder({i_block, j_block, i_warp, j_warp, i_lane, j_lane, k_outer, k_inner, j_part, i_result, j_result});
  auto thread = s.fuse(s.fuse(s.fuse(i_warp, j_warp), i_lane), j_lane);
  use_tiles(s, {i_block, j_block, thread, k_outer, k_inner, {j_part, i_result, j_result}},
            {.threads = 128,
             .unrolled = 8,
             .vectors = !vectorized_variant(shape, dtype),
             .b_layout = "k, j -> k, j"});
  return s;
}

} // namespace nestsmith::worklog
