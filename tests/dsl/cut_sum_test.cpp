/// Tests cut_sum: two sums with schedules of their own, the meaning, the place of the new nest, and refusals.

#include "tests/dsl/affine_rows.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::expect_refused;
using test::product;
using test::same_meaning;

TEST(CutSum, MakesASumOfTheLastTerms) {
  Schedule s(test::gemm(4, 2, 5));
  const BlockRef rest = s.cut_sum(s.loop("k"), 3);
  EXPECT_EQ(s.name(rest), "AB_rest");
  EXPECT_EQ("\n" + print(s.program().body), R"(
for ax_i < 4:
  for ax_j < 2:
    for ax_k < 2:
      block AB_rest(i = ax_i, j = ax_j, sum k = ax_k):
        init AB_rest[i, j] = 0
        AB_rest[i, j] = AB_rest[i, j] + A[i, k + 3]*B[k + 3, j]
for i < 4:
  for j < 2:
    for k < 3:
      block AB(i = i, j = j, sum k = k):
        init AB[i, j] = 0
        AB[i, j] = AB[i, j] + A[i, k]*B[k, j]
for C_i < 4:
  for C_j < 2:
    block C(i = C_i, j = C_j):
      C[i, j] = alpha*(AB[i, j] + AB_rest[i, j]) + beta*(C[i, j] where beta != 0 else 0)
)");
  EXPECT_TRUE(same_meaning(s));
  EXPECT_EQ(to_cpp(s.trace().back()), "auto AB_rest = s.cut_sum(k, 3);");
}

TEST(CutSum, KeepsTheMeaningForEachPointWithSchedulesOfTheirOwn) {
  for (std::int64_t point : {1, 2, 6}) {
    Schedule s(test::gemm(5, 3, 7));
    const BlockRef rest = s.cut_sum(s.loop("k"), point, named("others"));
    EXPECT_EQ(s.name(rest), "others");
    s.rfactor(s.split<2>(s.loops(rest).back(), {infer, 2})[0]);
    s.reverse_compute_at(s.block("C"), s.loops(s.block("AB"))[0]);
    EXPECT_TRUE(same_meaning(s)) << point;
  }
}

/// Maxima of two parts of a row, whose init stays with the first terms.
TEST(CutSum, KeepsOtherReducers) {
  Workload w("rows");
  Tensor x = w.placeholder("X", {3, 8}, DType::f32);
  Reduce k = reduce_axis("k", 8);
  Tensor most = w.compute("M", {3}, {"i"}, [&](Expr i) { return max_over(x(i, k), {k}); });
  Tensor y = w.compute("Y", {3, 8}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) - most(i); });
  Schedule s(w.output({y}));
  s.cut_sum(s.loop("k"), 5);
  EXPECT_TRUE(same_meaning(s));
}

/// Where the mask of a reader is false, it reads its fill.
TEST(CutSum, KeepsTheFillOfAMaskedRead) {
  Workload w("edges");
  Tensor x = w.placeholder("X", {5, 6}, DType::u32);
  Reduce k = reduce_axis("k", 6);
  Tensor rows = w.compute("R", {5}, {"i"}, [&](Expr i) { return sum(x(i, k), k); });
  Tensor y = w.compute("Y", {5}, {"i"}, [&](Expr i) { return rows(i) + rows.where_else(i > 0, 7, i - 1); });
  Schedule s(w.output({y}));
  s.cut_sum(s.loop("k"), 4);
  EXPECT_TRUE(same_meaning(s)) << print(s.program());
}

/// The nest follows the writer of what it reads, and comes before all others.
TEST(CutSum, ComesAsEarlyAsItsTermsAllow) {
  Workload w("steps");
  Tensor x = w.placeholder("X", {4, 6}, DType::u32);
  Tensor t = w.compute("T", {4, 6}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) + 1; });
  Tensor u = w.compute("U", {4, 6}, {"i", "j"}, [&](Expr i, Expr j) { return t(i, j) * 3; });
  Reduce k = reduce_axis("k", 6);
  Tensor rows = w.compute("R", {4}, {"i"}, [&](Expr i) { return sum(t(i, k), k); });
  Tensor y = w.compute("Y", {4, 6}, {"i", "j"}, [&](Expr i, Expr j) { return u(i, j) * rows(i); });
  Schedule s(w.output({y}));
  s.cut_sum(s.loop("k"), 2);
  std::string order;
  for (const Block *block : blocks_of(s.program().body))
    order += block->id->name + " ";
  EXPECT_EQ(order, "T R_rest U R Y ");
  EXPECT_TRUE(same_meaning(s));
}

TEST(CutSum, RefusesWhatItCannotTakeApart) {
  Schedule s(test::gemm(4, 2, 5));
  for (std::int64_t point : {0, 5, -1})
    expect_refused(s, "cut_sum.point", [&] { s.cut_sum(s.loop("k"), point); },
                   "of the loop k, which has 5 iterations, expected 1 or more, and fewer than the iterations",
                   {"k"});
  expect_refused(s, "cut_sum.sum", [&] { s.cut_sum(s.loop("i"), 2); },
                 "no block sums over i; name a loop of a sum", {"i"});
  Schedule parameter(product(4, 2, 5));
  expect_refused(parameter, "cut_sum.sum", [&] { parameter.cut_sum(parameter.loop("k"), 2); },
                 "block C writes the parameter C, which nothing reads; use cache_write first", {"C"});
  Schedule split(test::gemm(4, 2, 6));
  const Loop outer = split.split<2>(split.loop("k"), {infer, 2})[0];
  expect_refused(
      split, "cut_sum.axis", [&] { split.cut_sum(outer, 2); },
      "the loop k_outer is only a part of an axis of block AB, expected one that is an axis by itself; use "
      "cut_sum before split and fuse",
      {"k_outer", "AB"});
  Schedule placed(test::gemm(4, 2, 5));
  placed.reverse_compute_at(placed.block("C"), placed.loop("i"));
  expect_refused(placed, "cut_sum.nest", [&] { placed.cut_sum(placed.loop("k"), 2); },
                 "block C is in the nest of AB; use cut_sum before moving blocks into one nest", {"C", "AB"});
  Schedule bound(test::gemm(4, 2, 5));
  bound.bind(bound.loop("i"), Axis::block_x);
  expect_refused(bound, "cut_sum.nest", [&] { bound.cut_sum(bound.loop("k"), 2); }, "the loop i is bound",
                 {"i"});
  Schedule begun(test::gemm(4, 2, 5));
  begun.decompose_reduction(begun.block("AB"), begun.loop("k"));
  expect_refused(begun, "cut_sum.sum", [&] { begun.cut_sum(begun.loop("k"), 2); },
                 "the init of block AB is a block of its own; use cut_sum before decompose_reduction", {"AB"});
}

/// Affine functions are composed in the order of the rows and, inside of a row, of the columns.
TEST(CutSum, KeepsTheOrderOfTermsThatDoNotCommute) {
  Schedule s(test::affine_planes(3, 4, 5));
  expect_refused(s, "cut_sum.order", [&] { s.cut_sum(s.loop("l"), 2); }, "is not commutative and block", {});
  s.cut_sum(s.loop("k"), 3);
  EXPECT_TRUE(same_meaning(s));
}

} // namespace
} // namespace nestsmith
