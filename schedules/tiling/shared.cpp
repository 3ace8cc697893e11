#include "schedules/tiling/rungs.h"
#include "schedules/workloads.h"

namespace nestsmith::tiling {

/// The same blocks. Each thread fetches one element of A and one of B for each 32 steps of k. The knob
/// `block_size` chooses the side of the tiles and of the blocks.
Schedule shared(const Shape &shape, DType dtype, const Target &target, Knobs &knobs) {
  Schedule s(gemm(shape, dtype), target);
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  std::int64_t side = knobs.choose("block_size", {32, 16, 8});
  auto [i_block, i_thread] = s.split(i, {infer, side});
  auto [j_block, j_thread] = s.split(j, {infer, side});
  auto [k_outer, k_inner] = s.split(k, {infer, side});
  s.reorder({i_block, j_block, i_thread, j_thread});
  s.reverse_compute_at(C, j_thread);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(i_thread, Axis::thread_y);
  s.bind(j_thread, Axis::thread_x);
  for (const char *operand : {"A", "B"}) {
    auto tile = s.cache_read(AB, operand, Scope::shared);
    s.compute_at(tile, k_outer);
    auto loops = s.loops(tile);
    s.bind(loops[loops.size() - 2], Axis::thread_y);
    s.bind(loops.back(), Axis::thread_x);
  }
  s.unroll(k_inner);
  return s;
}

} // namespace nestsmith::tiling
