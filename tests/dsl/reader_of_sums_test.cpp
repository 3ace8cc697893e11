/// Tests reverse_compute_at of a block that sums the elements of another block, also after rfactor.

#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::expect_refused;
using test::same_meaning;

/// T[k, i] = 2*X[i, k], and y[i] is the sum of T[k, i] over k. The blocks are T and y. The loop i of T is
/// outermost.
Schedule column_sums(std::int64_t m, std::int64_t n) {
  Workload w("column_sums");
  Tensor x = w.placeholder("X", {m, n}, DType::u32);
  Tensor t = w.compute("T", {n, m}, {"k", "i"}, [&](Expr k, Expr i) { return x(i, k) * 2; });
  Reduce r = reduce_axis("r", n);
  Tensor y = w.compute("y", {m}, {"i"}, [&](Expr i) { return sum(t(r, i), r); });
  Schedule s(w.output({y}));
  auto loops = s.loops(s.block("T"));
  s.reorder({loops[1], loops[0]});
  return s;
}

/// y[i] is the sum of X[i, k] over k, factored by the inner part of k. The blocks are y_rf and y. The loop i of
/// y_rf is outermost.
Schedule partial_sums(std::int64_t m, std::int64_t n, std::int64_t threads) {
  Workload w("partial_sums");
  Tensor x = w.placeholder("X", {m, n}, DType::u32);
  Reduce k = reduce_axis("k", n);
  Tensor y = w.compute("y", {m}, {"i"}, [&](Expr i) { return sum(x(i, k), k); });
  Schedule s(w.output({y}));
  BlockRef part = s.rfactor(s.split(s.loops(s.block("y"))[1], {infer, threads})[1]);
  auto loops = s.loops(part);
  s.reorder({loops[0], loops[2], loops[1]});
  return s;
}

TEST(ReaderOfSums, MovesToTheLoopOfTheRows) {
  for (std::int64_t n : {1, 7, 8, 32, 33})
    for (std::int64_t digit : {0, 1}) {
      Schedule s = column_sums(3, n);
      Loop at = s.loops(s.block("T"))[0];
      auto parts = s.split(s.loops(s.block("y"))[1], {infer, 8});
      BlockRef part = s.rfactor(parts[static_cast<std::size_t>(digit)]);
      s.reverse_compute_at(part, at);
      EXPECT_TRUE(same_meaning(s)) << n << " " << digit;
    }
}

TEST(ReaderOfSums, MovesToTheSumsThatItAdds) {
  for (std::int64_t n : {1, 40, 256, 300})
    for (std::int64_t threads : {1, 8, 64})
      for (std::int64_t digit : {0, 1}) {
        Schedule s = partial_sums(3, n, threads);
        Loop at = s.loops(s.block("y_rf"))[0];
        auto parts = s.split(s.loops(s.block("y"))[1], {infer, 4});
        BlockRef second = s.rfactor(parts[static_cast<std::size_t>(digit)]);
        s.reverse_compute_at(second, at);
        s.reverse_compute_at(s.block("y"), at);
        EXPECT_TRUE(same_meaning(s)) << n << " " << threads << " " << digit;
        EXPECT_EQ(s.loops(s.block("y"))[0].var, at.var);
      }
}

TEST(ReaderOfSums, MovesToTilesOfRows) {
  for (std::int64_t tile : {1, 2, 3, 4, 5}) {
    Schedule s = partial_sums(4, 40, 8);
    BlockRef first = s.block("y_rf");
    BlockRef second = s.rfactor(s.split(s.loops(s.block("y"))[1], {infer, 4})[1]);
    Loop outer = s.split(s.loops(first)[0], {infer, tile})[0];
    s.reverse_compute_at(second, outer);
    EXPECT_TRUE(same_meaning(s)) << tile;
  }
}

TEST(ReaderOfSums, StaysWhereOneIterationMakesAPartOfItsSum) {
  Schedule s = partial_sums(3, 64, 8);
  BlockRef first = s.block("y_rf");
  BlockRef second = s.rfactor(s.split(s.loops(s.block("y"))[1], {infer, 4})[1]);
  Loop thread = s.loops(first)[1];
  expect_refused(s, "reverse_compute_at.identity", [&] { s.reverse_compute_at(second, thread); },
                 "the elements that it can compute in one iteration of", {second.id->name});
}

} // namespace
} // namespace nestsmith
