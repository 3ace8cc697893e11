/// Tests fission: loops of their own for the statements of a loop, the meaning, parts with schedules of their
/// own, and refusals.

#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::expect_refused;
using test::product;
using test::same_meaning;

/// C = A*B + bias with the sum AB, and C in the loop i of AB.
struct Placed {
  explicit Placed(std::int64_t m = 5, std::int64_t n = 3, std::int64_t k = 4)
      : s(test::gemm(m, n, k)), i(s.loops(s.block("AB"))[0]) {
    s.reverse_compute_at(s.block("C"), i);
  }
  Schedule s;
  Loop i;
};

TEST(Fission, GivesEachStatementALoop) {
  Placed p(4, 2, 3);
  std::vector<Loop> loops = p.s.fission(p.i);
  ASSERT_EQ(loops.size(), 2U);
  EXPECT_EQ(p.s.name(loops[0]) + " " + p.s.name(loops[1]), "i i_C");
  EXPECT_EQ("\n" + print(p.s.program().body), R"(
for i < 4:
  for j < 2:
    for k < 3:
      block AB(i = i, j = j, sum k = k):
        init AB[i, j] = 0
        AB[i, j] = AB[i, j] + A[i, k]*B[k, j]
for i_C < 4:
  for ax_i < 1:
    for ax_j < 2:
      block C(i = ax_i + i_C, j = ax_j):
        C[i, j] = alpha*AB[i, j] + beta*(C[i, j] where beta != 0 else 0)
)");
  EXPECT_TRUE(same_meaning(p.s));
}

TEST(Fission, KeepsTheMeaningInsideOfLoops) {
  for (std::int64_t n : {1, 2, 7}) {
    Schedule s(test::gemm(6, n, 4));
    Loop i = s.loops(s.block("AB"))[0];
    auto [outer, inner] = s.split(i, {infer, 2});
    s.reverse_compute_at(s.block("C"), inner);
    s.unroll(s.loops_below(s.block("C"), inner).back());
    s.fission(inner);
    EXPECT_TRUE(same_meaning(s)) << n;
    s.fission(outer);
    EXPECT_TRUE(same_meaning(s)) << n;
  }
}

/// Each part of the rows gets axes of its own, so that directives take it for a computation of its own.
TEST(Fission, MakesPartsWithSchedulesOfTheirOwn) {
  for (std::int64_t point : {1, 2, 4}) {
    Placed p;
    for (Loop part : p.s.cut(p.i, {point})) {
      std::vector<Loop> loops = p.s.fission(part);
      BlockRef sum = p.s.blocks_below(loops[0])[0], result = p.s.blocks_below(loops[1])[0];
      p.s.axes_from_loops(sum);
      p.s.axes_from_loops(result);
      p.s.rfactor(p.s.split<2>(p.s.loops(sum).back(), {infer, 2})[0]);
      p.s.reverse_compute_at(result, p.s.loops(sum)[1]);
      EXPECT_TRUE(same_meaning(p.s)) << point;
    }
  }
}

TEST(Fission, NumbersTheRowsOfAPartFromZero) {
  Placed p(5, 3, 4);
  Loop second = p.s.cut(p.i, {2})[1];
  std::vector<Loop> loops = p.s.fission(second);
  BlockRef sum = p.s.blocks_below(loops[0])[0], result = p.s.blocks_below(loops[1])[0];
  p.s.axes_from_loops(sum);
  p.s.axes_from_loops(result);
  std::string text = print(p.s.program());
  EXPECT_TRUE(test::contains(text, "AB_part1: u32[3, 3]")) << text;
  EXPECT_TRUE(test::contains(text, "AB_part1[i_part1, j_part1] + A[i_part1 + 2, k_part1]*B[k_part1, j_part1]"))
      << text;
  EXPECT_TRUE(same_meaning(p.s));
}

/// With the number of its results, so that the text compiles.
TEST(Fission, IsADirectiveOfCpp) {
  Placed p(4, 2, 3);
  auto [sums, results] = p.s.fission<2>(p.i);
  EXPECT_EQ(p.s.name(results), "i_C");
  EXPECT_EQ(to_cpp(p.s.trace().back()), "auto [i, i_C] = s.fission<2>(i);");
}

TEST(Fission, RefusesWhatItCannotTakeApart) {
  Schedule plain(product(2, 3, 4));
  expect_refused(plain, "fission.several", [&] { plain.fission(plain.loop("i")); },
                 "the body of the loop i is one statement, expected 2 to 16; place a block there first", {"i"});
  Placed bound;
  bound.s.bind(bound.i, Axis::block_x);
  expect_refused(bound.s, "fission.serial", [&] { bound.s.fission(bound.i); },
                 "the loop i is bound to blockIdx.x, expected a serial loop", {"i"});
}

TEST(Fission, TakesAnInitASumAndAResult) {
  Schedule s(test::gemm(4, 3, 5));
  Loop k = s.loops(s.block("AB")).back();
  Loop j = s.loops(s.block("AB"))[1];
  s.reverse_compute_at(s.block("C"), j);
  s.decompose_reduction(s.block("AB"), k);
  std::vector<Loop> loops = s.fission(j); // the init, the sum and the result of a column
  EXPECT_EQ(loops.size(), 3U);
  EXPECT_TRUE(same_meaning(s));
}

/// An iteration computes what the one before computed, too.
TEST(Fission, RefusesAnotherOrderOfAccesses) {
  Schedule s(test::stencil(8));
  Loop i = s.loops(s.block("U"))[0];
  s.compute_at(s.block("T"), i);
  expect_refused(s, "fission.order", [&] { s.fission(i); }, "in different iterations of", {});
}

TEST(Fission, RefusesPipelinesAndLastBlocks) {
  Schedule s(test::chain(8, 8));
  auto [outer, inner] = s.split(s.loops(s.block("Y"))[0], {infer, 4});
  s.compute_at(s.block("U"), inner);
  s.compute_at(s.block("T"), outer);
  s.set_scope(s.block("T"), Scope::shared);
  s.pipeline(outer, {{s.block("T"), 0, 0}, {s.block("U"), 1, 1}, {s.block("Y"), 1, 1}});
  expect_refused(s, "fission.place", [&, inner = inner] { s.fission(inner); },
                 "is pipelined, and its stages name the blocks below", {});

  Schedule last(test::gemm(4, 4, 8));
  auto [i, j, k] = last.loops<3>(last.block("AB"));
  auto [part, rest] = last.split(k, {2, infer});
  last.rfactor(part);
  last.reorder({i, part, j, rest});
  last.bind(i, Axis::block_x);
  last.bind(part, Axis::block_y);
  last.reverse_compute_at(last.block("AB"), i);
  last.last_block(part);
  Loop column = last.loops_below(last.block("AB"), i)[1];
  last.reverse_compute_at(last.block("C"), column);
  expect_refused(last, "fission.place", [&] { last.fission(column); },
                 "executes the statements after it, which fission of", {});
}

} // namespace
} // namespace nestsmith
