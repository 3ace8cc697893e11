/// Tests `axes_from_loops` and `reindex_cache_read`, which make products of matrices of contractions of any
/// axes.

#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;

/// T[b, i, j] = the sum over k and l of A[b, i, k, l]*B[l, k, j], and Y = 2*T.
Program batches(std::int64_t b, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t l) {
  Workload w("batches");
  Tensor x = w.placeholder("A", {b, m, k, l}, DType::u32), y = w.placeholder("B", {l, k, n}, DType::u32);
  Reduce r = reduce_axis("k", k), t = reduce_axis("l", l);
  Tensor sums = w.compute("T", {b, m, n}, {"b", "i", "j"}, [&](Expr p, Expr i, Expr j) {
    return sum(x(p, i, r, t) * y(t, r, j), {r, t});
  });
  return w.output(
      {w.compute("Y", {b, m, n}, {"b", "i", "j"}, [&](Expr p, Expr i, Expr j) { return sums(p, i, j) * 2; })});
}

void fuse_all(Schedule &s) {
  BlockRef T = s.block("T"), Y = s.block("Y");
  auto [b, i, j, k, l] = s.loops<5>(T);
  s.fuse(b, i);
  s.fuse(k, l);
  s.axes_from_loops(T);
  auto [y_b, y_i, y_j] = s.loops<3>(Y);
  s.fuse(y_b, y_i);
  s.axes_from_loops(Y);
}

TEST(AxesFromLoops, MakesOneAxisOfFusedLoops) {
  Schedule s(batches(3, 5, 4, 2, 7));
  fuse_all(s);
  EXPECT_EQ("\n" + print(s.program().body), R"(
for b_i < 15:
  for j < 4:
    for k_l < 14:
      block T(b_i = b_i, j = j, sum k_l = k_l):
        init T[b_i, j] = 0
        T[b_i, j] = T[b_i, j] + A[b_i//5, b_i%5, k_l//7, k_l%7]*B[k_l%7, k_l//7, j]
for Y_b_Y_i < 15:
  for Y_j < 4:
    block Y(Y_b_Y_i = Y_b_Y_i, Y_j = Y_j):
      Y[Y_b_Y_i//5, Y_b_Y_i%5, Y_j] = T[Y_b_Y_i, Y_j]*2
)");
}

TEST(ReindexCacheRead, CopiesAMatrix) {
  Schedule s(batches(3, 5, 4, 2, 7));
  fuse_all(s);
  s.reindex_cache_read(s.block("T"), "A", Scope::shared);
  EXPECT_TRUE(contains(print(s.program()), "A_shared[A_b_i, A_k_l] = A[A_b_i//5, A_b_i%5, A_k_l//7, A_k_l%7]"));
  EXPECT_TRUE(contains(print(s.program()), "T[b_i, j] = T[b_i, j] + A_shared[b_i, k_l]*B[k_l%7, k_l//7, j]"));
}

TEST(Reindex, KeepsTheMeaningAtEdgeSizes) {
  for (auto [b, m, n, k, l] :
       {std::array{1, 1, 1, 1, 1}, {3, 5, 4, 2, 7}, {2, 7, 3, 5, 1}, {1, 9, 2, 1, 4}, {5, 1, 6, 3, 2}}) {
    Schedule s(batches(b, m, n, k, l));
    fuse_all(s);
    BlockRef T = s.block("T");
    auto [i, j, r] = s.loops<3>(T);
    auto [outer, inner] = s.split(r, {infer, 4});
    auto [i_outer, i_inner] = s.split(i, {infer, 4});
    s.reorder({i_outer, j, outer, i_inner, inner});
    for (const char *operand : {"A", "B"})
      s.compute_at(s.reindex_cache_read(T, operand, Scope::shared), outer);
    s.reverse_compute_at(s.block("Y"), j);
    EXPECT_TRUE(test::same_meaning(s)) << b << " " << m << " " << n << " " << k << " " << l;
  }
}

TEST(Reindex, TakesAWindowAndItsMask) {
  Workload w("window");
  Tensor x = w.placeholder("X", {6}, DType::u32), f = w.placeholder("F", {3}, DType::u32);
  Reduce r = reduce_axis("r", 3);
  Tensor y = w.compute("Y", {6}, {"i"}, [&](Expr i) {
    Expr at = i + Expr(r) - 1;
    return sum(x.where(0 <= at && at < 6, at) * f(r), r);
  });
  Schedule s(w.output({y}));
  s.reindex_cache_read(s.block("Y"), "X", Scope::shared);
  EXPECT_TRUE(contains(print(s.program()), "shared X_shared: u32[6, 3]"));
  EXPECT_TRUE(test::same_meaning(s));
}

TEST(Reindex, CopiesEachOperandOfAProductWithItself) {
  Workload w("gram");
  Tensor a = w.placeholder("A", {5, 7}, DType::u32);
  Reduce k = reduce_axis("k", 7);
  Schedule s(w.output(
      {w.compute("S", {5, 5}, {"i", "j"}, [&](Expr i, Expr j) { return sum(a(i, k) * a(j, k), k); })}));
  s.reindex_cache_read(s.block("S"), "A", Scope::shared);
  EXPECT_TRUE(contains(print(s.program()), "S[i, j] + A_shared[i, k]*A[j, k]"));
  s.reindex_cache_read(s.block("S"), "A", Scope::shared);
  EXPECT_TRUE(contains(print(s.program()), "S[i, j] + A_shared[i, k]*A_shared_1[j, k]"));
  EXPECT_TRUE(test::same_meaning(s));
}

TEST(AxesFromLoops, KeepsTheFormOfAReduction) {
  Workload w("shifted");
  Tensor x = w.placeholder("X", {3, 4, 5}, DType::u32);
  Reduce k = reduce_axis("k", 5);
  Schedule s(
      w.output({w.compute("Y", {3, 4}, {"i", "j"}, [&](Expr i, Expr j) { return sum(x(i, j, k) + 1, k); })}));
  auto [i, j, r] = s.loops<3>(s.block("Y"));
  s.fuse(i, j);
  s.axes_from_loops(s.block("Y"));
  EXPECT_TRUE(contains(print(s.program()), "Y[i_j//4, i_j%4] + X[i_j//4, i_j%4, k] + 1"));
  EXPECT_TRUE(test::same_meaning(s));
}

TEST(ReindexCacheReadRefuses, AnIndexThatItsNestComputes) {
  Workload w("gather");
  Tensor x = w.placeholder("X", {8}, DType::u32), at = w.placeholder("at", {6}, DType::u32);
  Tensor next = w.compute("next", {6}, {"i"}, [&](Expr i) { return at(i) + 1; });
  Schedule s(
      w.output({w.compute("Y", {6}, {"i"}, [&](Expr i) { return x(cast(DType::i64, next(i)) % 8) * 2; })}));
  s.compute_at(s.block("next"), s.loops(s.block("Y"))[0]);
  expect_refused(s, "reindex_cache_read.before", [&] { s.reindex_cache_read(s.block("Y"), "X", Scope::local); },
                 "block next writes next in the nest in which Y reads it", {"next", "Y"});
}

TEST(AxesFromLoopsRefuses, SeveralBlocksInANest) {
  Schedule s(batches(2, 3, 4, 5, 6));
  BlockRef T = s.block("T"), Y = s.block("Y");
  s.reverse_compute_at(Y, s.loops(T)[2]);
  expect_refused(s, "axes_from_loops.nest", [&] { s.axes_from_loops(T); },
                 "block Y is in the nest of T; use axes_from_loops before moving blocks into one nest",
                 {"Y", "T"});
}

TEST(AxesFromLoopsRefuses, ABoundLoop) {
  Schedule s(batches(2, 3, 4, 5, 6));
  s.bind(s.loops(s.block("T"))[0], Axis::block_x);
  expect_refused(s, "axes_from_loops.nest", [&] { s.axes_from_loops(s.block("T")); }, "the loop b is bound",
                 {"b"});
}

TEST(AxesFromLoopsRefuses, ATailAndAPart) {
  Schedule s(batches(2, 3, 4, 5, 6));
  s.split(s.loops(s.block("T"))[1], {infer, 2});
  expect_refused(s, "axes_from_loops.whole", [&] { s.axes_from_loops(s.block("T")); },
                 "the axis i of block T has a guard; use axes_from_loops before a split that leaves a tail",
                 {"T"});
  Schedule parts(batches(2, 3, 4, 5, 6));
  auto [outer, inner] = parts.split(parts.loops(parts.block("T"))[3], {5, infer});
  BlockRef partial = parts.rfactor(outer);
  expect_refused(parts, "axes_from_loops.whole", [&] { parts.axes_from_loops(partial); },
                 "begins at a first value; use axes_from_loops before rfactor", {Schedule::name(partial)});
}

TEST(AxesFromLoopsRefuses, ALoopOfTwoKinds) {
  Schedule s(batches(2, 3, 4, 5, 6));
  auto [b, i, j, k, l] = s.loops<5>(s.block("T"));
  s.fuse(j, k);
  expect_refused(
      s, "axes_from_loops.kind", [&] { s.axes_from_loops(s.block("T")); },
      "the loop j_k runs over j, which is spatial, and over k, which is a reduction axis; fuse loops of "
      "one kind",
      {"j_k", "T"});
}

TEST(AxesFromLoopsRefuses, ATemporaryWithALayoutOrTwoWriters) {
  Schedule s(batches(2, 3, 4, 5, 6));
  BlockRef T = s.block("T");
  s.set_scope(T, Scope::local);
  s.transform_layout(T, "b, i, j -> j, b, i");
  expect_refused(s, "axes_from_loops.temporary", [&] { s.axes_from_loops(T); }, "T has a layout", {"T"});
  Schedule two(batches(2, 3, 4, 5, 6));
  two.decompose_reduction(two.block("T"), two.loops(two.block("T"))[0]);
  expect_refused(two, "axes_from_loops.temporary", [&] { two.axes_from_loops(two.block("T")); },
                 "T has several writers; use axes_from_loops before decompose_reduction", {"T"});
}

TEST(ReindexCacheReadRefuses, WhatCacheReadRefuses) {
  Schedule s(batches(2, 3, 4, 5, 6));
  BlockRef T = s.block("T"), Y = s.block("Y");
  expect_refused(s, "reindex_cache_read.reads", [&] { s.reindex_cache_read(T, "Y", Scope::shared); },
                 "block T does not read 'Y'; it reads T, A, B", {"T"});
  Schedule tiled = s;
  tiled.cache_read(T, "A", Scope::shared);
  expect_refused(tiled, "reindex_cache_read.scope",
                 [&] { tiled.reindex_cache_read(T, "A_shared", Scope::global); },
                 "got the scope global for a copy of A_shared, which is shared", {});
  expect_refused(s, "reindex_cache_read.unwritten", [&] { s.reindex_cache_read(T, "T", Scope::shared); },
                 "block T also writes T, so a copy made before it would be stale", {"T"});
  Schedule fused = s;
  fused.reverse_compute_at(Y, fused.loops(T)[2]);
  expect_refused(fused, "reindex_cache_read.before", [&] { fused.reindex_cache_read(Y, "T", Scope::local); },
                 "use reindex_cache_read before moving the blocks into one nest", {"T", "Y"});
}

TEST(ReindexCacheReadRefuses, APartOfATemporary) {
  Workload w("parts");
  Tensor x = w.placeholder("X", {8}, DType::u32);
  Tensor t = w.compute("T", {8}, {"i"}, [&](Expr i) { return x(i) + 1; });
  Tensor u = w.compute("U", {8}, {"i"}, [&](Expr i) { return t(i) * 2; });
  Tensor y = w.compute("Y", {4}, {"i"}, [&](Expr i) { return u(i) + t(i); });
  Schedule s(w.output({y}));
  s.compute_at(s.block("U"), s.loops(s.block("Y"))[0]);
  expect_refused(s, "reindex_cache_read.whole", [&] { s.reindex_cache_read(s.block("U"), "T", Scope::local); },
                 "compute only a part of U", {"U"});
}

TEST(ShareCache, ReadsWhatIsStored) {
  Schedule s(batches(2, 3, 4, 5, 6));
  BlockRef stored = s.cache_write(s.block("T"), Scope::local);
  s.share_cache(s.block("Y"), stored);
  EXPECT_TRUE(contains(print(s.program()), "Y[b, i, j] = T_local[b, i, j]*2"));
  EXPECT_TRUE(test::same_meaning(s));
}

} // namespace
} // namespace nestsmith
