#pragma once
/// C = alpha*A*B + beta*C in tiles of 4 x 4 x `depth`. 16 threads copy the tiles to shared memory in each
/// iteration of k_outer, and load the operands of each k into registers one step ahead.

#include "tests/dsl/support.h"

namespace nestsmith::test {

struct FragmentGemm {
  Schedule s;
  BlockRef AB;
  std::vector<BlockRef> tiles, fragments; ///< of A and of B
  Loop k_outer, k_inner;

  FragmentGemm(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t depth = 4,
               Scope fragment_scope = Scope::local)
      : s(gemm(m, n, k)), AB(s.block("AB")) {
    s.set_scope(AB, Scope::local);
    auto [i_outer, i_inner] = s.split(s.loop("i"), {infer, 4});
    auto [j_outer, j_inner] = s.split(s.loop("j"), {infer, 4});
    auto [outer, inner] = s.split(s.loop("k"), {infer, depth});
    k_outer = outer;
    k_inner = inner;
    s.reorder({i_outer, j_outer, i_inner, j_inner, k_outer, k_inner});
    auto thread = s.fuse(i_inner, j_inner);
    s.reverse_compute_at(s.block("C"), thread);
    s.bind(i_outer, Axis::block_y);
    s.bind(j_outer, Axis::block_x);
    s.bind(thread, Axis::thread_x);
    for (const char *operand : {"A", "B"}) {
      tiles.push_back(s.cache_read(AB, operand, Scope::shared));
      fragments.push_back(s.cache_read(AB, s.name(tiles.back()), fragment_scope));
      s.compute_at(fragments.back(), k_inner);
      s.compute_at(tiles.back(), k_outer);
      auto loops = s.loops(tiles.back());
      Loop element = s.fuse(loops[loops.size() - 2], loops.back());
      s.bind(s.split(element, {infer, 16})[1], Axis::thread_x);
    }
  }
  void pipeline_inner() {
    s.unroll(k_inner);
    s.pipeline(k_inner, {{fragments[0], 0, 0}, {fragments[1], 0, 1}, {AB, 1, 2}});
  }
  /// `last` is the order of the computation; the tiles have the other orders.
  void pipeline_outer(std::int64_t stages, bool async, std::int64_t last = 2) {
    if (async)
      for (BlockRef tile : tiles)
        s.async_copy(tile);
    std::int64_t first = last == 0 ? 1 : 0;
    s.pipeline(k_outer, {{tiles[0], 0, first},
                         {tiles[1], 0, first + 1},
                         {fragments[0], stages - 1, last},
                         {fragments[1], stages - 1, last},
                         {AB, stages - 1, last}});
  }
  /// Pipelines both loops and joins the two pipelines. `last` is the order of the computation in the outer one.
  void join(std::int64_t stages, bool async, std::int64_t last = 2) {
    pipeline_inner();
    pipeline_outer(stages, async, last);
    s.join_pipelines(k_inner);
  }
  /// Joins the pipelines and spreads the copies of both tiles over the steps of k_inner.
  void join_and_spread(std::int64_t stages, bool async) {
    join(stages, async, 0);
    for (BlockRef tile : tiles)
      spread(tile);
  }
  void spread(BlockRef tile) {
    Loop parts = s.loops_below(tile, k_outer)[0];
    s.unroll(parts);
    s.spread(parts);
  }
};

} // namespace nestsmith::test
