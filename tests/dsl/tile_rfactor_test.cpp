/// Tests tile and rfactor: the resulting programs and the refusals.

#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::chain;
using test::expect_refused;
using test::gemm;
using test::product;
using test::same_meaning;

TEST(Tile, IsTwoSplitsAndAReorder) {
  Schedule tiled(product(7, 9, 4)), steps(product(7, 9, 4));
  auto [i_outer, j_outer, i_inner, j_inner] = tiled.tile(tiled.loop("i"), tiled.loop("j"), {4, 2});
  EXPECT_EQ(tiled.name(i_outer) + tiled.name(j_outer) + tiled.name(i_inner) + tiled.name(j_inner),
            "i_outerj_outeri_innerj_inner");
  auto [i0, i1] = steps.split(steps.loop("i"), {infer, 4});
  auto [j0, j1] = steps.split(steps.loop("j"), {infer, 2});
  steps.reorder({i0, j0, i1, j1});
  EXPECT_EQ(print(tiled.program()), print(steps.program()));
  EXPECT_EQ(test::trace_text(tiled), "auto [i_outer, j_outer, i_inner, j_inner] = s.tile(i, j, {4, 2});\n");
  EXPECT_TRUE(same_meaning(tiled));
}

TEST(Tile, TakesLoopsInAnyOrder) {
  for (std::int64_t ti : {1, 3, 8})
    for (std::int64_t tk : {1, 2, 5}) {
      Schedule s(product(5, 3, 4));
      s.tile(s.loop("k"), s.loop("i"), {tk, ti});
      EXPECT_TRUE(same_meaning(s));
    }
}

TEST(TileRefuses, AnotherNumberOfFactors) {
  Schedule s(product(8, 8, 4));
  expect_refused(s, "tile.factors", [&] { s.tile(s.loop("i"), s.loop("j"), std::vector<std::int64_t>{4}); },
                 "got 1 factors, expected 2: the extents of a tile along i and j", {"i", "j"});
}

TEST(TileRefuses, WhatCannotBeSplit) {
  Schedule s(product(8, 8, 4));
  expect_refused(s, "tile.split",
                 [&] {
                   s.tile(s.loop("i"), s.loop("j"), {4, 0});
                 },
                 "s.split(j, {infer, 0}): got the factor 0, expected at least 1", {"i", "j"});
  s.split(s.loop("k"), {infer, 2});
  expect_refused(s, "tile.split",
                 [&] {
                   s.tile(s.loop("k_outer"), s.loop("k_inner"), {2, 3});
                 },
                 "it is not the outermost part of an axis of the sum C", {"k_outer", "k_inner"});
  s.bind(s.loop("j"), Axis::thread_x);
  expect_refused(s, "tile.split",
                 [&] {
                   s.tile(s.loop("i"), s.loop("j"), {2, 2});
                 },
                 "the loop j is bound to threadIdx.x, expected a serial loop", {"i", "j"});
}

TEST(TileRefuses, LoopsOfTwoNests) {
  Schedule s(chain(8, 8));
  Loop i = s.loop("i");
  expect_refused(s, "tile.nest",
                 [&] {
                   s.tile(i, s.loop("U_j"), {4, 4});
                 },
                 "are in different nests", {"i", "U_j"});
  expect_refused(s, "tile.nest", [&] { s.tile(i, i, {4, 4}); }, "the loop i is named twice", {"i"});
  s.reverse_compute_at(s.block("U"), i);
  expect_refused(s, "tile.nest",
                 [&] {
                   s.tile(i, s.loop("j"), {4, 4});
                 },
                 "other statements between the loops i_inner and j_outer", {"i", "j"});
}

TEST(Rfactor, MakesPartialSumsAndAddsThemUp) {
  Schedule s(product(3, 5, 8));
  auto [outer, inner] = s.split(s.loop("k"), {infer, 4});
  (void)inner;
  BlockRef parts = s.rfactor(outer);
  EXPECT_EQ(s.name(parts), "C_rf");
  EXPECT_TRUE(same_meaning(s));
  EXPECT_EQ(print(s.program()),
            "product(A: u32[3, 8], B: u32[8, 5], out C: u32[3, 5]):\n"
            "global C_rf: u32[2, 3, 5]\n"
            "for i < 3:\n"
            "  for j < 5:\n"
            "    for k_outer < 2:\n"
            "      for k_inner < 4:\n"
            "        block C_rf(k_outer = k_outer, i = i, j = j, sum k = k_outer*4 + k_inner from k_outer*4):\n"
            "          init C_rf[k_outer, i, j] = 0\n"
            "          C_rf[k_outer, i, j] = C_rf[k_outer, i, j] + A[i, k]*B[k, j]\n"
            "for ax_i < 3:\n"
            "  for ax_j < 5:\n"
            "    for ax_k_outer < 2:\n"
            "      block C(i = ax_i, j = ax_j, sum k_outer = ax_k_outer):\n"
            "        init C[i, j] = 0\n"
            "        C[i, j] = C[i, j] + C_rf[k_outer, i, j]\n");
}

TEST(Rfactor, TakesAnyDigitTailsAndEmptyParts) {
  for (std::int64_t k : {1, 2, 7, 8, 9, 16})
    for (const std::vector<std::int64_t> &factors :
         {std::vector<std::int64_t>{infer, 4}, {16, infer}, {infer, 2, 3}, {infer, 1}})
      for (std::size_t digit = 0; digit < factors.size(); ++digit) {
        Schedule s(product(2, 3, k));
        std::vector<Loop> loops = s.split(s.loop("k"), factors);
        BlockRef parts = s.rfactor(loops[digit]);
        EXPECT_TRUE(same_meaning(s)) << k;
        s.bind(loops[digit], Axis::block_z);
        Schedule local = s;
        local.cache_write(parts, Scope::local);
        EXPECT_TRUE(same_meaning(local));
        EXPECT_TRUE(s.obligations().empty());
      }
}

TEST(Rfactor, PartialSumsCanBeMadeWhereTheyAreRead) {
  for (std::int64_t k : {7, 8}) {
    for (std::size_t digit : {0, 1}) {
      Schedule s(product(2, 3, k));
      auto loops = s.split(s.loop("k"), std::vector<std::int64_t>{infer, 4});
      BlockRef parts = s.rfactor(loops[digit]);
      s.compute_at(parts, s.loops(s.block("C"))[1]);
      EXPECT_TRUE(same_meaning(s));
      s.compute_at(parts, s.loops(s.block("C"))[2]);
      EXPECT_TRUE(same_meaning(s));
    }
  }
}

TEST(Rfactor, PartialSumsOfAMiddleDigitStayWhereTheyAre) {
  Schedule s(product(2, 3, 12));
  BlockRef parts = s.rfactor(s.split(s.loop("k"), std::vector<std::int64_t>{infer, 2, 3})[1]);
  expect_refused(
      s, "compute_at.steps", [&] { s.compute_at(parts, s.loops(s.block("C"))[1]); },
      "the loops of block C_rf do not advance its sum over k from the first index, k_1*3, in equal steps",
      {"C_rf"});
}

TEST(Rfactor, TwiceMakesPartsOfParts) {
  Schedule s(product(2, 3, 12));
  auto [a, b, c] = s.split(s.loop("k"), {2, 3, 2});
  (void)c;
  s.rfactor(a);
  s.rfactor(b);
  EXPECT_TRUE(same_meaning(s));
  EXPECT_EQ(nestsmith::blocks_of(s.program().body).size(), 3U);
}

TEST(Rfactor, DecomposesLikeAnySum) {
  Schedule s(product(2, 3, 9));
  auto [outer, inner] = s.split(s.loop("k"), {infer, 4});
  BlockRef parts = s.rfactor(outer);
  s.reorder({outer, s.loop("i"), s.loop("j"), inner});
  s.decompose_reduction(parts, inner);
  EXPECT_TRUE(same_meaning(s));
}

/// C[i] is the sum of A[i, k, l] over k and l.
Program two_axes() {
  Workload w("two_axes");
  Tensor a = w.placeholder("A", {3, 6, 10}, DType::u32);
  Reduce k = reduce_axis("k", 6), l = reduce_axis("l", 10);
  Tensor c = w.compute("C", {3}, {"i"}, [&](Expr i) { return sum(a(i, k, l), {k, l}); });
  return w.output({c});
}

TEST(Rfactor, ALoopThatIsFusedFromTwoAxesOfASum) {
  Schedule s(two_axes());
  BlockRef parts = s.rfactor(s.fuse(s.loop("k"), s.loop("l")));
  EXPECT_TRUE(same_meaning(s));
  s.compute_at(parts, s.loops(s.block("C"))[0]);
  EXPECT_TRUE(same_meaning(s));
  for (std::int64_t factor : {2, 5, 10, 20}) { // each part has whole digits of the axes
    Schedule split(two_axes());
    auto [outer, inner] = split.split<2>(split.fuse(split.loop("k"), split.loop("l")), {infer, factor});
    split.rfactor(factor == 20 ? outer : inner);
    EXPECT_TRUE(same_meaning(split));
  }
}

/// Y[i] is the sum of X[i, k, r] over k and r.
Program sum_of_two_axes(std::int64_t m, std::int64_t k, std::int64_t r) {
  Workload w("two_axes");
  Tensor x = w.placeholder("X", {m, k, r}, DType::u32);
  Reduce a = reduce_axis("k", k), b = reduce_axis("r", r);
  return w.output({w.compute("Y", {m}, {"i"}, [&](Expr i) { return sum(x(i, a, b), {a, b}); })});
}

TEST(Rfactor, APartOfALoopThatIsFusedFromTwoAxesOfASum) {
  for (std::int64_t k : {1, 3, 7})
    for (std::int64_t r : {1, 2, 5})
      for (std::int64_t factor : {2, 4, 32}) {
        Schedule s(sum_of_two_axes(3, k, r));
        auto [outer, inner] = s.split<2>(s.fuse(s.loop("k"), s.loop("r")), {infer, factor});
        BlockRef parts = s.rfactor(inner);
        EXPECT_TRUE(same_meaning(s)) << k << " " << r << " " << factor;
        s.reorder({inner, outer});
        EXPECT_TRUE(same_meaning(s)) << k << " " << r << " " << factor;
        s.bind(inner, Axis::thread_x);
        s.bind(s.loops(parts)[0], Axis::block_x);
        EXPECT_TRUE(s.obligations().empty()) << s.obligations().front().message;
        s.decompose_reduction(parts, outer);
        EXPECT_TRUE(same_meaning(s)) << k << " " << r << " " << factor;
      }
}

TEST(Rfactor, TheOuterPartOfALoopThatIsFusedFromTwoAxesOfASum) {
  Schedule s(sum_of_two_axes(3, 7, 5));
  auto [outer, inner] = s.split<2>(s.fuse(s.loop("k"), s.loop("r")), {infer, 8});
  (void)inner;
  s.rfactor(outer);
  EXPECT_TRUE(same_meaning(s)) << print(s.program());
}

TEST(RfactorRefuses, APartOfALoopThatIsFusedWithAnotherAxis) {
  Schedule s(sum_of_two_axes(3, 7, 5));
  s.reorder({s.loop("k"), s.loop("i")});
  auto [outer, inner] = s.split<2>(s.fuse(s.loop("k"), s.loop("i")), {infer, 4});
  (void)outer;
  expect_refused(s, "rfactor.part", [&, at = inner] { s.rfactor(at); },
                 "the loop k_i_inner runs over more than the axis k of block Y", {"k_i_inner", "Y"});
}

TEST(RfactorRefuses, WhatIsNoWholeSum) {
  Schedule s(gemm(3, 4, 8));
  expect_refused(s, "rfactor.sum", [&] { s.rfactor(s.loop("i")); },
                 "no block sums over i; name a loop of a sum", {"i"});
  Schedule decomposed = s;
  decomposed.decompose_reduction(decomposed.block("AB"), decomposed.loop("k"));
  expect_refused(decomposed, "rfactor.sum", [&] { decomposed.rfactor(decomposed.loop("k")); },
                 "the init of block AB is a block of its own; use rfactor before decompose_reduction", {"AB"});
}

TEST(RfactorRefuses, ALoopThatIsNotSerial) {
  Schedule s(product(3, 4, 8));
  s.unroll(s.loop("k"));
  expect_refused(s, "rfactor.serial", [&] { s.rfactor(s.loop("k")); },
                 "the loop k is unrolled, expected a serial loop", {"k"});
}

TEST(RfactorRefuses, AMixedLoop) {
  Schedule s(product(3, 4, 8));
  Loop fused = s.fuse(s.loop("j"), s.loop("k"));
  expect_refused(s, "rfactor.part", [&] { s.rfactor(fused); },
                 "the loop j_k runs over more than the axis k of block C, so its iterations are not parts of "
                 "the sum; use rfactor before fuse",
                 {"j_k", "C"});
}

TEST(RfactorRefuses, ASumThatIsUsedInItsNest) {
  Schedule s(gemm(3, 4, 8));
  s.reverse_compute_at(s.block("C"), s.loop("j"));
  expect_refused(s, "rfactor.alone", [&] { s.rfactor(s.loop("k")); },
                 "block C uses AB in the nest of AB, and the sum is complete only after that nest; use rfactor "
                 "before moving the blocks into one nest",
                 {"C", "AB"});
}

} // namespace
} // namespace nestsmith
