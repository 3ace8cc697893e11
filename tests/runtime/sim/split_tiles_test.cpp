/// Tests tiles whose part of a thread consists of separate pieces, such as two pairs of rows. Only the pieces
/// must be loaded, kept in registers and stored.

#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

/// Tiles of 8 x 8 elements and 4 threads. Thread t has the rows {2t, 2t+1, 4+2t, 5+2t}, t = 0, 1, and the
/// corresponding columns.
Schedule in_pieces(std::int64_t m, std::int64_t n, std::int64_t k) {
  Schedule s(test::gemm(m, n, k));
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i_block, i_half, i_thread, i_elem] = s.split(s.loop("i"), {infer, 2, 2, 2});
  auto [j_block, j_half, j_thread, j_elem] = s.split(s.loop("j"), {infer, 2, 2, 2});
  auto [k_outer, k_inner] = s.split(s.loop("k"), {infer, 4});
  s.reorder({i_block, j_block, i_thread, j_thread, k_outer, k_inner, i_half, i_elem, j_half, j_elem});
  auto thread = s.fuse(i_thread, j_thread);
  s.reverse_compute_at(C, thread);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  for (const char *operand : {"A", "B"}) {
    auto tile = s.cache_read(AB, operand, Scope::shared);
    auto fragment = s.cache_read(AB, s.name(tile), Scope::local);
    s.compute_at(fragment, k_inner);
    s.compute_at(tile, k_outer);
    auto loops = s.loops(tile);
    auto [round, lane] = s.split(s.fuse(loops[loops.size() - 2], loops.back()), {infer, 4});
    s.bind(lane, Axis::thread_x);
    s.unroll(round);
  }
  return s;
}

TEST(SplitTiles, KeepTheirPiecesOnly) {
  kernel::Kernel kernel = lower(in_pieces(8, 8, 8)).only();
  std::map<std::string, std::int64_t> elements;
  for (const kernel::Allocation &allocation : kernel.local)
    elements[allocation.buffer->name] = as_int(allocation.buffer->shape[0]).value();
  EXPECT_EQ(elements,
            (std::map<std::string, std::int64_t>{{"AB", 16}, {"A_shared_local", 4}, {"B_shared_local", 4}}));
}

TEST(SplitTiles, AreRightAtEverySize) {
  for (std::int64_t m : {1, 5, 8, 11})
    for (std::int64_t n : {3, 8, 14})
      for (std::int64_t k : {1, 4, 7}) {
        Schedule s = in_pieces(m, n, k);
        EXPECT_TRUE(test::same_meaning(s));
        SCOPED_TRACE(testing::Message() << m << " " << n << " " << k);
        test::expect_right(s);
      }
}

} // namespace
} // namespace nestsmith
