#pragma once
/// C = alpha*A*B + beta*C in tiles of 4 x 4 x 4. 16 threads copy the tiles to shared memory in each iteration
/// of k_outer.

#include "tests/dsl/support.h"

namespace nestsmith::test {

struct TiledGemm {
  Schedule s;
  BlockRef AB, A, B;
  Loop k_outer;
  std::vector<BlockRef> locals;

  TiledGemm(std::int64_t m, std::int64_t n, std::int64_t k, const Target &target = {}, DType dtype = DType::u32)
      : s(gemm(m, n, k, dtype), target) {
    AB = s.block("AB");
    s.set_scope(AB, Scope::local);
    auto [i_outer, i_inner] = s.split(s.loop("i"), {infer, 4});
    auto [j_outer, j_inner] = s.split(s.loop("j"), {infer, 4});
    k_outer = s.split(s.loop("k"), {infer, 4})[0];
    s.reorder({i_outer, j_outer, i_inner, j_inner, k_outer});
    auto thread = s.fuse(i_inner, j_inner);
    s.reverse_compute_at(s.block("C"), thread);
    s.bind(i_outer, Axis::block_y);
    s.bind(j_outer, Axis::block_x);
    s.bind(thread, Axis::thread_x);
    A = s.cache_read(AB, "A", Scope::shared);
    B = s.cache_read(AB, "B", Scope::shared);
    for (BlockRef tile : {A, B})
      fetch(tile);
  }

  void fetch(BlockRef tile) {
    s.compute_at(tile, k_outer);
    auto loops = s.loops(tile);
    s.bind(s.fuse(loops[loops.size() - 2], loops.back()), Axis::thread_x);
  }

  /// Copies both tiles to registers before shared memory.
  void through_registers() {
    for (auto [tile, operand] : {std::pair{A, "A"}, {B, "B"}}) {
      locals.push_back(s.cache_read(tile, operand, Scope::local));
      fetch(locals.back());
    }
  }
};

} // namespace nestsmith::test
