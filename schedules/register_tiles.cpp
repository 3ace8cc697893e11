#include "schedules/register_tiles.h"

#include "schedules/fetch.h"

namespace nestsmith {

void register_tiles(Schedule &s, RegisterTiles tiles) {
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  std::vector<Loop> loops = s.loops(AB);
  const Loop &i = loops[loops.size() - 3], &j = loops[loops.size() - 2], &k = loops.back();
  if (loops.size() == 4) // a batch
    s.bind(loops[0], Axis::block_z);
  auto [i_block, i_thread, i_result] = s.split(i, {infer, tiles.side, tiles.results});
  auto [j_block, j_thread, j_result] = s.split(j, {infer, tiles.side, tiles.results});
  auto [k_outer, k_inner] = s.split(k, {infer, tiles.k});
  s.reorder({i_block, j_block, i_thread, j_thread, k_outer, k_inner, i_result, j_result});
  auto thread = s.fuse(i_thread, j_thread);
  s.reverse_compute_at(C, thread);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  for (const char *operand : {"A", "B"}) {
    auto tile = s.cache_read(AB, operand, Scope::shared);
    auto fragment = s.cache_read(AB, s.name(tile), Scope::local);
    s.compute_at(fragment, k_inner);
    fetch_tile(s, tile, k_outer, tiles.side * tiles.side);
    for (const Loop &loop : s.loops_below(fragment, k_inner))
      s.unroll(loop);
  }
  if (tiles.unroll_k)
    s.unroll(k_inner);
  s.unroll(i_result);
  s.unroll(j_result);
  for (const Loop &loop : s.loops_below(C, thread))
    s.unroll(loop);
}

} // namespace nestsmith
