/// Tests async_copy: the mark in the program, the refusals and the obligations. Also tests pipelines of any
/// number of stages.

#include "dsl/hardware/target.h"
#include "dsl/schedule/trace.h"
#include "tests/lowering/tiled_gemm.h"

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::owed;
using test::TiledGemm;

TEST(AsyncCopy, MarksTheBlockAndChangesNothing) {
  TiledGemm t(7, 6, 11);
  t.s.async_copy(t.A);
  std::string text = print(t.s.program());
  EXPECT_TRUE(contains(text, "%4) async where A_i < 7")) << text;
  EXPECT_TRUE(test::same_meaning(t.s));
  EXPECT_EQ(owed(t.s), "");
  EXPECT_EQ(to_cpp(t.s.trace().back()), "s.async_copy(A_shared);");
}

TEST(AsyncCopy, StaysWithTheBlock) {
  TiledGemm t(8, 8, 12);
  t.s.async_copy(t.A);
  t.s.unroll(t.s.loop("k_inner"));
  t.s.storage_align(t.A, 0, 4, 1);
  t.s.reorder({t.s.loop("j_outer"), t.s.loop("i_outer")});
  EXPECT_TRUE(contains(print(t.s.program()), " async")) << print(t.s.program());
  EXPECT_TRUE(test::same_meaning(t.s));
}

TEST(AsyncCopyRefuses, ArchitecturesWithoutIt) {
  TiledGemm t(8, 8, 8, make_target("sm_75"));
  expect_refused(
      t.s, "async_copy.feature", [&] { t.s.async_copy(t.A); },
      "cp_async needs sm_80, sm_86, sm_87, sm_88, sm_89, sm_90, sm_100, sm_101, sm_103, sm_110, sm_120, "
      "sm_121; got sm_75; choose another architecture, or leave the copy synchronous",
      {"A_shared"});
}

TEST(AsyncCopyRefuses, BlocksThatDoNotFillSharedMemory) {
  TiledGemm t(8, 8, 8);
  expect_refused(t.s, "async_copy.shared", [&] { t.s.async_copy(t.AB); },
                 "block AB writes AB in local memory, expected shared memory; copy the operand to a tile with "
                 "cache_read(…, Scope::shared)",
                 {"AB"});
}

TEST(AsyncCopyRefuses, BlocksThatDoNotCopyFromGlobalMemory) {
  TiledGemm t(8, 8, 8);
  t.through_registers();
  expect_refused(
      t.s, "async_copy.copy", [&] { t.s.async_copy(t.A); },
      "block A_shared stores A_local[A_i, A_k] from local memory, expected one load of u32 from global "
      "memory: an asynchronous copy does not compute, convert, or read registers; copy directly from "
      "global memory, without a cache_read in between",
      {"A_shared"});
  Schedule s(test::chain(4, 4));
  s.set_scope(s.block("T"), Scope::shared);
  expect_refused(
      s, "async_copy.copy", [&] { s.async_copy(s.block("T")); },
      "block T stores X[i, j] + 1, expected one load of u32 from global memory: an asynchronous copy does "
      "not compute, convert, or read registers; compute where the tile is read",
      {"T"});
}

/// T = X where i < 2, else `fill`; Y = T.
Schedule masked(float fill) {
  Workload w("masked");
  Tensor x = w.placeholder("X", {4}, DType::f32);
  Tensor t = w.compute("T", {4}, {"i"}, [&](Expr i) {
    Expr zero = x.where(i < 2, i);
    const auto *access = zero.as<Load>();
    return load(access->buffer, access->indices, access->mask, Expr(fill));
  });
  Tensor y = w.compute("Y", {4}, {"i"}, [&](Expr i) { return t(i); });
  return Schedule(w.output({y}));
}

TEST(AsyncCopyRefuses, OtherFillsThanZero) {
  for (auto [fill, text] : {std::pair{1.0F, "1.0"}, {-0.0F, "-0.0"}}) {
    Schedule s = masked(fill);
    s.set_scope(s.block("T"), Scope::shared);
    expect_refused(
        s, "async_copy.fill", [&] { s.async_copy(s.block("T")); },
        std::string("block T stores ") + text +
            " where i < 2 is false, but an asynchronous copy fills with 0 only; leave the copy synchronous",
        {"T"});
  }
  Schedule zero = masked(0);
  zero.set_scope(zero.block("T"), Scope::shared);
  zero.async_copy(zero.block("T"));
  EXPECT_TRUE(test::same_meaning(zero));
}

/// T = X and Y = T in f16.
Program copies() {
  Workload w("copies");
  Tensor x = w.placeholder("X", {8, 8}, DType::f16);
  Tensor t = w.compute("T", {8, 8}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j); });
  Tensor y = w.compute("Y", {8, 8}, {"i", "j"}, [&](Expr i, Expr j) { return t(i, j); });
  return w.output({y});
}

TEST(AsyncCopyOwes, PiecesOfFourBytes) {
  Schedule s(copies());
  BlockRef T = s.block("T");
  s.set_scope(T, Scope::shared);
  s.reverse_compute_at(s.block("Y"), s.loops(T).front());
  s.async_copy(T);
  EXPECT_TRUE(contains(owed(s),
                       "block T copies 1 element of f16 at a time, which has 2 bytes, but an asynchronous copy "
                       "has 4, 8 or 16 bytes; vectorize a loop along which both T and its source are "
                       "contiguous and aligned, with 2, 4 or 8 iterations"))
      << owed(s);
  s.vectorize(s.split(s.loops(T).back(), {infer, 4})[1]);
  EXPECT_EQ(owed(s), "");
  s.transform_layout(T, "i, j -> j, i"); // the tile has one row, so its elements stay contiguous
  EXPECT_EQ(owed(s), "");
}

TEST(AsyncCopyOwes, PiecesOfContiguousElements) {
  Schedule s(copies());
  BlockRef T = s.block("T");
  s.set_scope(T, Scope::shared);
  Loop outer = s.split(s.loops(T).front(), {infer, 4})[0];
  s.reverse_compute_at(s.block("Y"), outer);
  s.vectorize(s.split(s.loops(T).back(), {infer, 4})[1]);
  s.async_copy(T);
  EXPECT_EQ(owed(s), "");
  s.transform_layout(T, "i, j -> j, i");
  EXPECT_TRUE(contains(owed(s), "copies 1 element of f16 at a time")) << owed(s);
}

TEST(AsyncCopyOwes, ACopy) {
  TiledGemm t(8, 8, 8);
  t.s.async_copy(t.A);
  t.s.set_scope(t.A, Scope::local);
  EXPECT_TRUE(contains(owed(t.s), "block A_shared writes A_shared in local memory, expected shared memory"))
      << owed(t.s);
}

TEST(AsyncCopyOwes, ALaterStageForTheReaders) {
  Workload w("three");
  Tensor x = w.placeholder("X", {8}, DType::u32);
  Tensor t = w.compute("T", {8}, {"i"}, [&](Expr i) { return x(i); });
  Tensor u = w.compute("U", {8}, {"i"}, [&](Expr i) { return t(i) + 1; });
  Tensor y = w.compute("Y", {8}, {"i"}, [&](Expr i) { return u(i) * 2; });
  Schedule s(w.output({y}));
  BlockRef T = s.block("T"), U = s.block("U"), Y = s.block("Y");
  Loop i = s.loops(T).back();
  for (BlockRef tile : {T, U})
    s.set_scope(tile, Scope::shared);
  for (BlockRef reader : {U, Y})
    s.reverse_compute_at(reader, i);
  s.async_copy(T);
  s.pipeline(i, {{T, 0, 0}, {U, 0, 1}, {Y, 1, 2}});
  EXPECT_TRUE(contains(owed(s),
                       "block U reads T in the stage 0 of i, in which it is copied asynchronously, so it would "
                       "wait for the copies of all stages; give U a later stage"))
      << owed(s);
}

/// A wait for the copies of the inner loop would also wait for the copies of the pipeline.
TEST(AsyncCopyOwes, OneQueue) {
  Schedule s(test::gemm(8, 8, 12));
  BlockRef AB = s.block("AB");
  Loop k_outer = s.split(s.loop("k"), {infer, 4})[0];
  BlockRef A = s.cache_read(AB, "A", Scope::shared), B = s.cache_read(AB, "B", Scope::shared);
  s.reorder({k_outer, s.loop("i"), s.loop("j")});
  s.compute_at(A, k_outer);
  s.compute_at(B, s.loop("k_inner"));
  s.async_copy(A);
  s.pipeline(k_outer, {{A, 0, 0}, {B, 1, 1}, {AB, 1, 1}});
  EXPECT_FALSE(contains(owed(s), "asynchronous")) << owed(s);
  s.async_copy(B);
  EXPECT_TRUE(contains(owed(s),
                       "block B_shared copies asynchronously in a loop inside of k_outer, whose own "
                       "asynchronous copies are in flight: a wait for the inner copies also waits for those; "
                       "leave the copies of one of the two loops synchronous"))
      << owed(s);
}

TEST(AsyncCopyOwes, ReadersInThePipeline) {
  Workload w("outside");
  Tensor x = w.placeholder("X", {2, 8}, DType::u32);
  Tensor t = w.compute("T", {2, 8}, {"b", "i"}, [&](Expr b, Expr i) { return x(b, i); });
  Tensor u = w.compute("U", {2, 8}, {"b", "i"}, [&](Expr b, Expr i) { return t(b, i) + 1; });
  Tensor v = w.compute("V", {2, 8}, {"b", "i"}, [&](Expr b, Expr i) { return t(b, i) * 2; });
  Schedule s(w.output({u, v}));
  auto [b, i] = s.loops<2>(s.block("T"));
  s.set_scope(s.block("T"), Scope::shared);
  s.reverse_compute_at(s.block("U"), i);
  s.reverse_compute_at(s.block("V"), b);
  s.async_copy(s.block("T"));
  EXPECT_EQ(owed(s), "");
  s.pipeline(i, {{s.block("T"), 0, 0}, {s.block("U"), 1, 1}});
  EXPECT_TRUE(contains(owed(s),
                       "block V reads T outside of the pipelined loop i, in which asynchronous copies fill it; "
                       "move V below i, or leave the copy synchronous"))
      << owed(s);
}

/// After share_cache, C reads A again, so nothing waits for the copies.
TEST(AsyncCopyOwes, AReader) {
  Schedule s(test::product(3, 5, 4));
  BlockRef C = s.block("C"), A_shared = s.cache_read(C, "A", Scope::shared);
  s.share_cache(C, A_shared);
  EXPECT_EQ(owed(s), "");
  s.async_copy(A_shared);
  EXPECT_EQ(owed(s), "no block in the nest of A_shared reads A_shared, so the kernel never waits for its "
                     "asynchronous copies; move a reader into the nest, or leave the copy synchronous\n");
}

TEST(AsyncCopyOwes, ASourceThatNobodyWrites) {
  Workload w("in_place");
  Tensor x = w.inout("X", {8}, DType::u32);
  Tensor t = w.compute("T", {8}, {"i"}, [&](Expr i) { return x(i); });
  w.update(x, {"i"}, [&](const std::vector<Expr> &at) -> Definition { return t(at[0]) + 1; });
  Schedule s(w.output());
  Loop i = s.loops(s.block("T")).back();
  s.set_scope(s.block("T"), Scope::shared);
  s.reverse_compute_at(s.block("X"), i);
  s.async_copy(s.block("T"));
  EXPECT_EQ(owed(s), "");
  s.pipeline(i, {{s.block("T"), 0, 0}, {s.block("X"), 1, 1}});
  EXPECT_TRUE(contains(owed(s),
                       "block X writes X while asynchronous copies of later iterations of i may read it; leave "
                       "the copy of X synchronous"))
      << owed(s);
}

/// A program can have the mark without a directive. The obligations are the same.
TEST(AsyncCopyOwes, TheSameWithoutADirective) {
  TiledGemm t(8, 8, 8);
  t.s.async_copy(t.A);
  Program marked = t.s.program();
  marked.body = replace_buffer(marked.body, find_block(marked.body, t.A.id)->body.buffer, [&] {
    BufferNode local = *find_block(marked.body, t.A.id)->body.buffer;
    local.scope = Scope::local;
    return std::make_shared<const BufferNode>(std::move(local));
  }());
  EXPECT_TRUE(contains(owed(Schedule(marked)), "block A_shared writes A_shared in local memory"));
}

TEST(AsyncCopy, LetsAPipelineHaveAnyNumberOfStages) {
  for (std::int64_t stages : {2, 3, 4, 9}) {
    TiledGemm t(8, 8, 21);
    for (BlockRef tile : {t.A, t.B})
      t.s.async_copy(tile);
    t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.B, 0, 1}, {t.AB, stages - 1, 2}});
    EXPECT_TRUE(test::same_meaning(t.s));
    EXPECT_EQ(owed(t.s), "");
  }
}

TEST(PipelineRefuses, AGapAfterASynchronousCopy) {
  TiledGemm t(8, 8, 21);
  t.s.async_copy(t.A);
  expect_refused(t.s, "pipeline.stages",
                 [&] {
                   t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.B, 0, 1}, {t.AB, 2, 2}});
                 },
                 "or use async_copy for all blocks of the stage before", {"k_outer"});
}

} // namespace
} // namespace nestsmith
