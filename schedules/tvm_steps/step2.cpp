#include "schedules/tvm_steps/rungs.h"
#include "schedules/tvm_steps/tiles.h"
#include "schedules/workloads.h"

namespace nestsmith::tvm_steps {

/// 32 x 32 tiles, 4 x 8 threads of 8 x 4 results each.
Schedule step2(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  Tile tile = choose_tile(knobs, {}, dtype, target);
  Schedule s(matmul(shape, dtype), target);
  auto C = s.block("C");
  auto [i, j, k] = s.loops<3>(C);
  auto [i_block, i_thread, i_elem] = s.split(i, {infer, tile.threads_i, tile.results_i});
  auto [j_block, j_thread, j_elem] = s.split(j, {infer, tile.threads_j, tile.results_j});
  auto [k_outer, k_inner] = s.split(k, {infer, tile.k});
  s.reorder({i_block, j_block, i_thread, j_thread, k_outer, i_elem, j_elem, k_inner});
  s.bind(i_block, Axis::block_x);
  s.bind(j_block, Axis::block_y);
  s.bind(i_thread, Axis::thread_x);
  s.bind(j_thread, Axis::thread_y);
  return s;
}

} // namespace nestsmith::tvm_steps
