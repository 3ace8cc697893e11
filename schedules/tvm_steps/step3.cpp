#include "schedules/tvm_steps/rungs.h"
#include "schedules/tvm_steps/tiles.h"
#include "schedules/workloads.h"

namespace nestsmith::tvm_steps {

/// Tiles of A and B in shared memory. The post splits the fetch in two and omits a third of it. Here the 1024
/// elements are split three ways, into rounds, threads.y and threads.x, so that neighbouring threads fetch
/// neighbouring elements.
Schedule step3(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  Tile tile = choose_tile(knobs, {.shared = true}, dtype, target);
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
  for (const char *operand : {"A", "B"}) {
    auto copy = s.cache_read(C, operand, Scope::shared);
    s.compute_at(copy, k_outer);
    auto loops = s.loops(copy);
    auto element = s.fuse(loops[loops.size() - 2], loops.back());
    auto [round, y, x] = s.split(element, {infer, tile.threads_j, tile.threads_i});
    s.bind(y, Axis::thread_y);
    s.bind(x, Axis::thread_x);
  }
  return s;
}

} // namespace nestsmith::tvm_steps
