/// Tests pipelined and partitioned loops in kernels: the prologue, loads ahead of their use, copies of tiles,
/// barriers and full tiles. tests/runtime/sim/pipeline_test.cpp tests their results.

#include "lowering/lower.h"

#include "dsl/ir/tensor.h"
#include "tests/lowering/tiled_gemm.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::contains;
using test::TiledGemm;

struct Barriers {
  int inside = 0, outside = 0; ///< inside and outside of the loop k_outer
};

Barriers barriers(const kernel::Kernel &kernel) {
  Barriers count;
  kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
    count.outside += kernel::as<kernel::Barrier>(stmt) != nullptr;
    if (const auto *loop = kernel::as<kernel::Loop>(stmt); loop && loop->var->name == "k_outer")
      kernel::walk(loop->body, [&](const kernel::Stmt &inner) {
        count.inside += kernel::as<kernel::Barrier>(inner) != nullptr;
      });
  });
  count.outside -= count.inside;
  return count;
}

/// The copy for the next step reads X from its end. It executes only if that step exists, and then its index is
/// at least 0. So it needs no guard against negative indices. The lanes of its vectors could not share such a
/// guard.
TEST(Pipeline, GuardsACopyOnlyWhereItsIterationNeedsOne) {
  Workload w("reversed");
  Tensor x = w.placeholder("X", {24}, DType::u32);
  Reduce r = reduce_axis("r", 24);
  Tensor y = w.compute("Y", {4}, {"i"}, [&](Expr) { return sum(x(23 - Expr(r)), r); });
  Schedule s(w.output({y}));
  Loop step = s.split(s.loop("r"), {infer, 2})[0];
  BlockRef tile = s.cache_read(s.block("Y"), "X", Scope::shared);
  s.compute_at(tile, step);
  auto [outer, lanes] = s.split(s.loops(tile).back(), {infer, 2});
  s.split(outer, {infer, 2}); // a loop of one iteration, with a guard
  s.vectorize(lanes);
  s.double_buffer(step);
  std::string text = kernel::print(lower(s).only());
  EXPECT_TRUE(contains(text, "let X_v'1: u32x2 = X[")) << text;
  EXPECT_FALSE(contains(text, "0 <=")) << text;
}

TEST(Pipeline, ReadsAsWrittenByHand) {
  TiledGemm t(8, 8, 12);
  t.through_registers();
  t.s.double_buffer(t.k_outer);
  EXPECT_EQ("\n" + kernel::print(lower(t.s)), R"(
kernel gemm(A[8, 12]: u32, B[12, 8]: u32, C[8, 8]: u32, alpha: u32, beta: u32):
  let j_outer: i32 = blockIdx.x of 2
  let i_outer: i32 = blockIdx.y of 2
  let tid: i32 = threadIdx.x of 16
  shared A_shared[32]: u32  # 4 x 4 tile of A, for 2 iterations in flight
  shared B_shared[32]: u32 at byte 128  # 4 x 4 tile of B, for 2 iterations in flight
  local AB[1]: u32  # 1 x 1 results of one thread
  local A_local[1]: u32  # 1 x 1 tile of A
  local B_local[1]: u32  # 1 x 1 tile of B
  let i: i32 = i_outer*4 + tid//4
  let j: i32 = j_outer*4 + tid%4
  let A_k: i32 = tid%4
  let B_k: i32 = tid//4
  AB[0] = 0
  A_local[0] = A[i*12 + A_k]
  B_local[0] = B[B_k*8 + j]
  A_shared[tid] = A_local[0]
  B_shared[tid] = B_local[0]
  sync block  # A_shared, B_shared: written above, read below by AB
  for k_outer < 3:
    let A_k'1: i32 = k_outer*4 + tid%4 + 4
    let B_k'1: i32 = k_outer*4 + tid//4 + 4
    if k_outer + 1 < 3:  # not in the last iteration of k_outer
      A_local[0] = A[i*12 + A_k'1]
      B_local[0] = B[B_k'1*8 + j]
    for k_inner < 4:
      AB[0] = AB[0] + A_shared[k_outer%2*16 + tid//4*4 + k_inner]*B_shared[k_outer%2*16 + k_inner*4 + tid%4]
    if k_outer + 1 < 3:  # not in the last iteration of k_outer
      A_shared[(k_outer + 1)%2*16 + tid] = A_local[0]
      B_shared[(k_outer + 1)%2*16 + tid] = B_local[0]
    sync block  # A_shared, B_shared: written above, read by AB of the next k_outer; read above by AB, overwritten by it
  C[i*8 + j] = alpha*AB[0] + beta*(C[i*8 + j] where beta != 0 else 0)
)");
}

TEST(Pipeline, HasOneBarrierATile) {
  for (bool registers : {false, true})
    for (std::int64_t k : {5, 8, 9, 64}) {
      TiledGemm t(8, 8, k);
      if (registers)
        t.through_registers();
      t.s.double_buffer(t.k_outer);
      Barriers count = barriers(lower(t.s).only());
      EXPECT_EQ(count.inside, 1) << kernel::print(lower(t.s));
      EXPECT_EQ(count.outside, 1) << kernel::print(lower(t.s));
    }
}

TEST(Pipeline, OfOneIterationIsTheLoopAsItWas) {
  TiledGemm plain(8, 8, 4), pipelined(8, 8, 4);
  pipelined.s.double_buffer(pipelined.k_outer);
  EXPECT_EQ(kernel::print(lower(pipelined.s)), kernel::print(lower(plain.s)));
}

TEST(Pipeline, OfThreeStagesHasOneBarrierATile) {
  for (std::int64_t k : {8, 12, 13, 40}) {
    TiledGemm t(8, 8, k);
    t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.B, 1, 1}, {t.AB, 2, 2}});
    Barriers count = barriers(lower(t.s).only());
    EXPECT_EQ(count.inside, 1) << kernel::print(lower(t.s));
    EXPECT_EQ(count.outside, 1) << kernel::print(lower(t.s));
  }
}

TEST(Pipeline, CountsItsCopiesAsSharedMemory) {
  Target small;
  small.shared_bytes_per_block = 200;
  TiledGemm t(8, 8, 12, small);
  EXPECT_EQ(lower(t.s).shared_bytes(), 128);
  t.s.double_buffer(t.k_outer);
  try {
    lower(t.s);
    FAIL();
  } catch (const ScheduleError &error) {
    EXPECT_TRUE(contains(error.message(), "a block needs 256 bytes of shared memory (A_shared 128 in 2 copies, "
                                          "B_shared 128 in 2 copies), but sm_80 has 200"))
        << error.message();
  }
}

TEST(Partition, OfASerialLoopPeelsTheEdge) {
  TiledGemm t(8, 8, 11);
  t.s.partition(t.k_outer);
  EXPECT_EQ("\n" + kernel::print(lower(t.s)), R"(
kernel gemm(A[8, 11]: u32, B[11, 8]: u32, C[8, 8]: u32, alpha: u32, beta: u32):
  let j_outer: i32 = blockIdx.x of 2
  let i_outer: i32 = blockIdx.y of 2
  let tid: i32 = threadIdx.x of 16
  shared A_shared[16]: u32  # 4 x 4 tile of A
  shared B_shared[16]: u32 at byte 64  # 4 x 4 tile of B
  local AB[1]: u32  # 1 x 1 results of one thread
  let i: i32 = i_outer*4 + tid//4
  let j: i32 = j_outer*4 + tid%4
  let A_k: i32 = 8 + tid%4
  let B_k: i32 = 8 + tid//4
  AB[0] = 0
  for k_outer < 2:
    let A_k'1: i32 = k_outer*4 + tid%4
    let B_k'1: i32 = k_outer*4 + tid//4
    A_shared[tid] = A[i*11 + A_k'1]
    B_shared[tid] = B[B_k'1*8 + j]
    sync block  # A_shared, B_shared: written above, read below by AB
    for k_inner < 4:
      AB[0] = AB[0] + A_shared[tid//4*4 + k_inner]*B_shared[k_inner*4 + tid%4]
    sync block  # A_shared, B_shared: read above by AB, overwritten by the next k_outer
  A_shared[tid] = (A[i*11 + A_k] where A_k < 11 else 0)
  B_shared[tid] = (B[B_k*8 + j] where B_k < 11 else 0)
  sync block  # A_shared, B_shared: written above, read below by AB
  for k_inner'1 < 4:
    AB[0] = AB[0] + A_shared[tid//4*4 + k_inner'1]*B_shared[k_inner'1*4 + tid%4]
  C[i*8 + j] = alpha*AB[0] + beta*(C[i*8 + j] where beta != 0 else 0)
)");
}

TEST(Partition, OfABlockAxisAsksOnceForTheWholeBlock) {
  TiledGemm t(7, 10, 8);
  t.s.partition(t.s.loop("i_outer"));
  t.s.partition(t.s.loop("j_outer"));
  std::string text = kernel::print(lower(t.s));
  EXPECT_TRUE(contains(text, "if j_outer < 2 and i_outer < 1:  # all tiles are full")) << text;
  std::size_t edge = text.find("\n  else:");
  ASSERT_NE(edge, std::string::npos) << text;
  EXPECT_FALSE(contains(text.substr(0, edge), "where i")) << text;
  EXPECT_FALSE(contains(text.substr(0, edge), "where j")) << text;
  EXPECT_TRUE(contains(text.substr(edge), "if i < 7 and j < 10:  # tail of i, j")) << text;
}

/// The index of the block counts rows and columns of tiles, so other blocks than the last one have partial
/// tiles.
TEST(Partition, OfFusedTilesAsksWhetherTheTileEndsInside) {
  for (auto [m, n] : {std::pair{7, 10}, {8, 10}, {7, 12}, {13, 5}}) {
    Workload w("twice");
    Tensor x = w.placeholder("X", {m, n});
    Schedule s(w.output({w.compute("Y", {m, n}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) * 2; })}));
    auto [i_outer, j_outer, i_inner, j_inner] = s.tile(s.loop("i"), s.loop("j"), {4, 4});
    Loop tiles = s.fuse(i_outer, j_outer);
    s.bind(tiles, Axis::block_x);
    s.bind(s.fuse(i_inner, j_inner), Axis::thread_x);
    s.partition(tiles);
    std::string text = kernel::print(lower(s));
    std::int64_t columns = (n + 3) / 4;
    EXPECT_EQ(contains(text, fmt::format("//{}*4 < {}", columns, m - 3)), m % 4 != 0) << text;
    EXPECT_EQ(contains(text, fmt::format("%{}*4 < {}", columns, n - 3)), n % 4 != 0) << text;
    std::size_t edge = text.find("\n  else:");
    ASSERT_NE(edge, std::string::npos) << text;
    EXPECT_FALSE(contains(text.substr(0, edge), "# tail of")) << text;
    EXPECT_TRUE(contains(text.substr(edge), "# tail of")) << text;
  }
}

/// A search finds the full tiles. Its time does not grow with the extent.
TEST(Partition, FindsTheFullTilesOfALargeExtent) {
  for (std::int64_t tiles : {std::int64_t{5}, std::int64_t{6}, std::int64_t{7}, std::int64_t{1} << 21,
                             (std::int64_t{1} << 40) + 1}) {
    std::int64_t extent = 8 * tiles - 7; // the last tile has one element
    Workload w("large");
    Tensor x = w.placeholder("X", {extent});
    Reduce k = reduce_axis("k", extent);
    Tensor y = w.compute("Y", {1}, {"i"}, [&](Expr) { return sum(x.where(Expr(k) < 37, k), k); });
    Schedule s(w.output({y}));
    s.partition(s.split(s.loop("k"), {infer, 8})[0]);
    std::string text = kernel::print(lower(s));
    EXPECT_TRUE(contains(text, "for k_outer < 4:")) << text;
    EXPECT_EQ(contains(text, fmt::format("for k_outer'1 < {}:", tiles - 4)), tiles > 5) << text;
  }
}

TEST(Partition, OfAPipelinedLoopFetchesFullTilesWithoutGuards) {
  TiledGemm t(8, 8, 21);
  t.through_registers();
  t.s.double_buffer(t.k_outer);
  t.s.partition(t.k_outer);
  std::string text = kernel::print(lower(t.s));
  std::size_t main = text.find("for k_outer < 4:"), rest = text.find("for k_outer'1 < 2:");
  ASSERT_NE(main, std::string::npos) << text;
  ASSERT_NE(rest, std::string::npos) << text;
  EXPECT_FALSE(contains(text.substr(main, rest - main), "where A")) << text;
  EXPECT_FALSE(contains(text.substr(main, rest - main), "if ")) << text;
}

/// All tiles are full, but no tile is left that the last iteration can load ahead.
TEST(Partition, OfAPipelinedLoopOfFullTilesPeelsTheLastIteration) {
  TiledGemm t(8, 8, 20);
  t.through_registers();
  t.s.double_buffer(t.k_outer);
  std::string before = kernel::print(lower(t.s));
  EXPECT_TRUE(contains(before, "if k_outer + 1 < 5:")) << before;
  t.s.partition(t.k_outer);
  std::string text = kernel::print(lower(t.s));
  EXPECT_TRUE(contains(text, "for k_outer < 4:")) << text;
  EXPECT_FALSE(contains(text, "if ")) << text;
}

TEST(UnrollBy, StaysWithTheIterationsOfAPartition) {
  TiledGemm t(8, 8, 23);
  t.s.unroll_by(t.k_outer, 3);
  EXPECT_TRUE(contains(kernel::print(lower(t.s)), "for k_outer < 6 unrolled by 3:"));
  t.s.partition(t.k_outer);
  std::string text = kernel::print(lower(t.s));
  EXPECT_TRUE(contains(text, "for k_outer < 5 unrolled by 3:")) << text;
}

TEST(Registers, OfAFetchBelongToTheThreadThatFillsThem) {
  TiledGemm t(8, 8, 12);
  t.through_registers();
  kernel::Plan plan = lower(t.s);
  for (const kernel::Allocation &allocation : plan.only().local)
    EXPECT_EQ(as_int(allocation.buffer->shape[0]), 1) << allocation.buffer->name;
  TiledGemm other(8, 8, 12);
  BlockRef local = other.s.cache_read(other.A, "A", Scope::local);
  other.s.compute_at(local, other.k_outer);
  auto loops = other.s.loops(local);
  auto [a, b] = other.s.split(loops.back(), {2, 2});
  other.s.bind(other.s.fuse(loops[loops.size() - 2], a), Axis::thread_y);
  (void)b;
  ASSERT_FALSE(other.s.obligations().empty());
}

} // namespace
} // namespace nestsmith
