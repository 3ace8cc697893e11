/// Tests the boxes that compute_at computes, and the guards of loops that are not an axis of a buffer.

#include "dsl/ir/loop_digits.h"
#include "dsl/ir/region.h"
#include "tests/dsl/support.h"

#include <functional>
#include <limits>

namespace nestsmith {
namespace {

using test::contains;
using test::same_meaning;

/// Y[i] reads T = 3*X at one or more indices. The blocks are T and Y.
Schedule reader(std::int64_t elements, std::int64_t n, const std::function<Expr(const Tensor &, Expr)> &read) {
  Workload w("reader");
  Tensor x = w.placeholder("X", {elements}, DType::u32);
  Tensor t = w.compute("T", {elements}, {"i"}, [&](Expr i) -> Definition { return x(i) * 3; });
  Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition { return read(t, i); });
  return Schedule(w.output({y}));
}

/// Splits the loop of Y by `tile` and moves T to the outer loop. Returns the extents of the loops of T.
std::vector<std::int64_t> box_of(Schedule &s, std::int64_t tile) {
  Loop outer = s.split(s.loops(s.block("Y"))[0], {infer, tile})[0];
  s.compute_at(s.block("T"), outer);
  EXPECT_TRUE(same_meaning(s));
  std::vector<std::int64_t> extents;
  for (const For *loop : loops_of(path_to(s.program().body, s.block("T").id)))
    if (loop->var != outer.var)
      extents.push_back(as_int(loop->extent).value());
  return extents;
}

using Extents = std::vector<std::int64_t>;

TEST(ComputeAt, ComputesABoxThatBeginsBeforeTheFirstElement) {
  Schedule s = reader(
      36, 36, [](const Tensor &t, Expr i) { return t.where(1 <= i, i - 1) + t(i) + t.where(i < 35, i + 1); });
  EXPECT_EQ(box_of(s, 8), Extents{10});
  EXPECT_TRUE(contains(print(s.program()), "where 0 <= i < 36")) << print(s.program());
}

/// The sums may wrap around, so the mask can be true for any i.
TEST(ComputeAt, DoesNotCutABoxByAMaskOnData) {
  Workload w("reader");
  Tensor x = w.placeholder("X", {36}, DType::u32), d = w.placeholder("D", {1}, DType::i64);
  Tensor t = w.compute("T", {36}, {"i"}, [&](Expr i) { return x(i) * 3; });
  Tensor y = w.compute("Y", {36}, {"i"}, [&](Expr i) { return t.where(i + d(0) < d(0) + 5, i); });
  Schedule s(w.output({y}));
  EXPECT_EQ(box_of(s, 36), Extents{36});
}

TEST(ComputeAt, CutsABoxWithAKnownBeginToTheArray) {
  Schedule s = reader(6, 6, [](const Tensor &t, Expr i) { return t.where(1 <= i && i < 4, i - 1); });
  EXPECT_EQ(box_of(s, 6), Extents{3});
}

TEST(ComputeAt, ComputesTheQuotientsOfATileThatIsNotAligned) {
  Schedule s = reader(45, 720, [](const Tensor &t, Expr i) { return t(i / 16); });
  EXPECT_EQ(box_of(s, 24), Extents{2});
  Schedule aligned = reader(45, 720, [](const Tensor &t, Expr i) { return t(i / 16); });
  EXPECT_EQ(box_of(aligned, 48), Extents{3});
  Schedule shifted = reader(48, 720, [](const Tensor &t, Expr i) { return t((i + 5) / 16 + 2); });
  EXPECT_EQ(box_of(shifted, 10), Extents{2});
}

TEST(ComputeAt, ComputesOnlyWhatAMaskReads) {
  Schedule s = reader(36, 36, [](const Tensor &t, Expr i) { return t.where(i < 5, i); });
  EXPECT_EQ(box_of(s, 36), Extents{5});
  Schedule until = reader(36, 30, [](const Tensor &t, Expr i) { return t.where(i + 2 <= 8, i + 2); });
  EXPECT_EQ(box_of(until, 30), Extents{7});
}

TEST(ComputeAt, ComputesOnlyWhatAMaskReadsFromItsLowerBoundOn) {
  auto box = [](std::int64_t tile, const std::function<Expr(const Tensor &, Expr)> &read) {
    Schedule s = reader(36, 30, read);
    return box_of(s, tile);
  };
  EXPECT_EQ(box(30, [](const Tensor &t, Expr i) { return t.where(1 <= i, i); }), Extents{29});
  EXPECT_EQ(box(30, [](const Tensor &t, Expr i) { return t.where(Expr(20) < i, i + 6); }), Extents{9});
  EXPECT_EQ(box(30, [](const Tensor &t, Expr i) { return t.where(4 <= i && i < 9, i); }), Extents{5});
  EXPECT_EQ(box(30, [](const Tensor &t, Expr i) { return t.where(4 <= i, i / 3); }), Extents{9});
  EXPECT_EQ(box(30, [](const Tensor &t, Expr i) { return t.where(i < 5, 30 - i); }), Extents{5});
  EXPECT_EQ(box(30, [](const Tensor &t, Expr i) { return t.where(25 <= i, 30 - i); }), Extents{5});
  // The lowest index that a tile reads depends on the tile.
  EXPECT_EQ(box(6, [](const Tensor &t, Expr i) { return t.where(4 <= i, i); }), Extents{6});
  EXPECT_EQ(box(6, [](const Tensor &t, Expr i) { return t.where(4 <= i % 6, i); }), Extents{2});
}

TEST(ComputeAt, ComputesABoxForAMaskThatIsAlwaysFalse) {
  for (std::int64_t least : {29, 30, 36, 100}) {
    Schedule s = reader(36, 30, [&](const Tensor &t, Expr i) { return t.where(least <= i, i); });
    EXPECT_EQ(box_of(s, 30), Extents{1}) << least;
  }
  Schedule none = reader(36, 30, [&](const Tensor &t, Expr i) { return t.where(20 <= i && i < 10, i); });
  box_of(none, 30);
  Schedule below = reader(36, 30, [&](const Tensor &t, Expr i) { return t.where(i < 0, i); });
  EXPECT_EQ(box_of(below, 30), Extents{1});
}

TEST(ComputeAt, DoesNotUseAMaskFarFromTheArray) {
  for (std::int64_t far :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    Schedule above = reader(36, 30, [&](const Tensor &t, Expr i) { return t.where(far < i, i); });
    EXPECT_EQ(box_of(above, 30), Extents{30});
    Schedule below = reader(36, 30, [&](const Tensor &t, Expr i) { return t.where(i <= far, i); });
    EXPECT_EQ(box_of(below, 30), Extents{30});
  }
}

/// A read with a step has a box with the same step.
TEST(ComputeAt, KeepsTheStepsOfAMaskedRead) {
  Schedule s = reader(36, 12, [](const Tensor &t, Expr i) { return t.where(3 <= i, i * 3); });
  Schedule two = reader(40, 16, [](const Tensor &t, Expr i) { return t.where(6 <= i, i / 4 * 10 + i % 4); });
  EXPECT_EQ(box_of(s, 12), Extents{12});
  EXPECT_EQ(box_of(two, 16), (Extents{4, 4}));
}

TEST(Split, GuardsALoopThatIsNoAxis) {
  Schedule s = reader(40, 36, [](const Tensor &t, Expr i) { return t(i) + t(i + 4); });
  EXPECT_EQ(box_of(s, 6), Extents{10});
  auto parts = s.split(s.loops(s.block("T")).back(), {infer, 4});
  EXPECT_TRUE(same_meaning(s));
  s.split(parts[1], {3, 2});
  EXPECT_TRUE(same_meaning(s));
  EXPECT_TRUE(contains(print(s.program()), "ax_i < 10, ax_i_inner < 4")) << print(s.program());
}

TEST(Split, GuardsTheTailOfLoopsThatAreFused) {
  Schedule s(test::chain(7, 9));
  auto [i, j] = s.loops<2>(s.block("Y"));
  auto [outer, inner] = s.split<2>(i, {infer, 3});
  s.split(s.fuse(inner, j), {infer, 8});
  EXPECT_TRUE(same_meaning(s));
}

/// A loop over a batch of 3, of which each element has (M + 15)//16 rows of tiles, and 9 in a row.
TEST(Bijective, TakesTheDigitsOfALoopByProductsOfSizes) {
  const Var f = make_var("f");
  const Expr rows = floordiv(Expr(make_size("M", {.max = 20000})) + 15, Expr(16)), tiles = rows * 9;
  const Stmt loop = make_for({f, tiles * 3, {}, make_seq({})});
  const std::vector<const For *> loops = {as<For>(loop)};
  const Bounds bounds = loop_bounds(loop);
  const Expr in_batch = floormod(Expr(f), tiles);
  EXPECT_TRUE(bijective({floordiv(Expr(f), tiles), floordiv(in_batch, Expr(9)), floormod(in_batch, Expr(9))},
                        loops, bounds));
  EXPECT_TRUE(
      bijective({floordiv(Expr(f), tiles), floordiv(in_batch, rows), floormod(in_batch, rows)}, loops, bounds));
  // Divisors that do not divide the tiles, digits that are missing, and digits that are there twice.
  for (const std::vector<Expr> &wrong :
       {std::vector<Expr>{floordiv(Expr(f), tiles), floordiv(in_batch, Expr(6)), floormod(in_batch, Expr(6))},
        {floordiv(Expr(f), tiles), floordiv(in_batch, rows + 1), floormod(in_batch, rows + 1)},
        {floordiv(Expr(f), tiles), floordiv(in_batch, Expr(9))},
        {floordiv(in_batch, Expr(9)), floormod(in_batch, Expr(9))},
        {floordiv(Expr(f), tiles), floordiv(in_batch, Expr(9)), floormod(in_batch, Expr(3))}})
    EXPECT_FALSE(bijective(wrong, loops, bounds));
}

TEST(Bijective, TakesThreeAxesOfSizes) {
  const Var f = make_var("f");
  const Expr a = make_size("A", {}), b = make_size("B", {}), c = make_size("C", {}), x = f;
  const Stmt loop = make_for({f, a * b * c, {}, make_seq({})});
  const std::vector<const For *> loops = {as<For>(loop)};
  const Bounds bounds = loop_bounds(loop);
  EXPECT_TRUE(
      bijective({floordiv(floordiv(x, c), b), floormod(floordiv(x, c), b), floormod(x, c)}, loops, bounds));
  EXPECT_TRUE(bijective({floordiv(x, b * c), floordiv(floormod(x, b * c), c), floormod(floormod(x, b * c), c)},
                        loops, bounds));
  EXPECT_FALSE(
      bijective({floordiv(floordiv(x, c), b), floormod(floordiv(x, c), b), floormod(x, b)}, loops, bounds));
}

} // namespace
} // namespace nestsmith
