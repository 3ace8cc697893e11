#include "schedules/vector_tiles.h"

#include "schedules/fetch.h"

namespace nestsmith {

namespace {

/// Splits the loop into groups of four iterations, and unrolls the loop over the groups. Vectorizes each group,
/// or unrolls it too.
void by_four(Schedule &s, Loop loop, bool vectors) {
  auto [group, lane] = s.split(loop, {infer, 4});
  s.unroll(group);
  if (vectors)
    s.vectorize(lane);
  else
    s.unroll(lane);
}

/// How a thread stores the four elements of a row that it loaded.
struct Stores {
  bool one_by_one = false;        ///< to different rows of the tile, or not aligned
  bool through_registers = false; ///< the loads are vectors although the stores are not aligned for them
};

/// Fills a tile by all threads.
void fill(Schedule &s, BlockRef tile, const char *operand, Loop at, VectorTiles tiles, Stores stores) {
  std::int64_t threads = tiles.side * tiles.side;
  if (!tiles.vectors) {
    fetch_tile(s, tile, at, threads);
    if (tiles.prefetch)
      fetch_tile(s, s.cache_read(tile, operand, Scope::local), at, threads);
    return;
  }
  if (!stores.through_registers)
    return s.vectorize(fetch_by_vectors(s, tile, at, threads));
  BlockRef registers = s.cache_read(tile, operand, Scope::local);
  Loop into = fetch_by_vectors(s, tile, at, threads);
  s.vectorize(fetch_by_vectors(s, registers, at, threads));
  if (stores.one_by_one)
    s.unroll(into);
  else
    s.vectorize(into);
}

} // namespace

void vector_tiles(Schedule &s, VectorTiles tiles, const char *b_layout) {
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
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
    bool is_a = operand[0] == 'A';
    auto tile = s.cache_read(AB, operand, Scope::shared);
    auto fragment = s.cache_read(AB, s.name(tile), Scope::local);
    s.compute_at(fragment, k_inner);
    const char *layout = is_a ? "i, k -> k, i" : b_layout;
    bool four = is_a || tiles.b_by_four;
    fill(s, tile, operand, k_outer, tiles,
         {.one_by_one = layout[0] != 'k' || !four, // each row of the tile has one k
          .through_registers = tiles.prefetch || !four});
    s.transform_layout(tile, layout);
    for (const Loop &loop : s.loops_below(fragment, k_inner))
      if (s.extent(loop) > 1)
        by_four(s, loop, tiles.vectors && four);
  }
  if (tiles.prefetch)
    s.double_buffer(k_outer);
  s.unroll(k_inner);
  s.unroll(i_result);
  s.unroll(j_result);
  auto rows = s.loops_below(C, thread);
  s.unroll(rows.front());
  by_four(s, rows.back(), tiles.vectors);
}

} // namespace nestsmith
