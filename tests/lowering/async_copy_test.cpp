/// Tests the groups, waits and barriers of asynchronous copies in kernels.
/// tests/runtime/sim/async_copy_test.cpp shows that each wait and each barrier is needed.

#include "lowering/lower.h"
#include "lowering/verify_kernel.h"

#include "tests/lowering/changed_stores.h"
#include "tests/lowering/fragment_gemm.h"
#include "tests/lowering/tiled_gemm.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::contains;
using test::TiledGemm;

TiledGemm copied(std::int64_t k, std::int64_t stages) {
  TiledGemm t(8, 8, k);
  for (BlockRef tile : {t.A, t.B})
    t.s.async_copy(tile);
  if (stages > 1)
    t.s.pipeline(t.k_outer, {{t.A, 0, 0}, {t.B, 0, 1}, {t.AB, stages - 1, 2}});
  return t;
}

TEST(AsyncCopy, OfTwoStagesReadsAsWrittenByHand) {
  EXPECT_EQ("\n" + kernel::print(lower(copied(12, 2).s)), R"(
kernel gemm(A[8, 12]: u32, B[12, 8]: u32, C[8, 8]: u32, alpha: u32, beta: u32):
  let j_outer: i32 = blockIdx.x of 2
  let i_outer: i32 = blockIdx.y of 2
  let tid: i32 = threadIdx.x of 16
  shared A_shared[32]: u32  # 4 x 4 tile of A, for 2 iterations in flight
  shared B_shared[32]: u32 at byte 128  # 4 x 4 tile of B, for 2 iterations in flight
  local AB[1]: u32  # 1 x 1 results of one thread
  let i: i32 = i_outer*4 + tid//4
  let j: i32 = j_outer*4 + tid%4
  let A_k: i32 = tid%4
  let B_k: i32 = tid//4
  AB[0] = 0
  A_shared[tid] = async A[i*12 + A_k]
  B_shared[tid] = async B[B_k*8 + j]
  commit copies  # A_shared, B_shared
  for k_outer < 3:
    let A_k'1: i32 = k_outer*4 + tid%4 + 4
    let B_k'1: i32 = k_outer*4 + tid//4 + 4
    wait for copies, 0 pending  # A_shared, B_shared: copied above, read below by AB
    sync block  # A_shared, B_shared: written above, read below by AB; read above by AB, overwritten by the next k_outer
    if k_outer + 1 < 3:  # not in the last iteration of k_outer
      A_shared[(k_outer + 1)%2*16 + tid] = async A[i*12 + A_k'1]
      B_shared[(k_outer + 1)%2*16 + tid] = async B[B_k'1*8 + j]
    commit copies  # A_shared, B_shared
    for k_inner < 4:
      AB[0] = AB[0] + A_shared[k_outer%2*16 + tid//4*4 + k_inner]*B_shared[k_outer%2*16 + k_inner*4 + tid%4]
  C[i*8 + j] = alpha*AB[0] + beta*(C[i*8 + j] where beta != 0 else 0)
)");
}

TEST(AsyncCopy, WithoutAPipelineIsWaitedForAtOnce) {
  EXPECT_EQ("\n" + kernel::print(lower(copied(12, 1).s)), R"(
kernel gemm(A[8, 12]: u32, B[12, 8]: u32, C[8, 8]: u32, alpha: u32, beta: u32):
  let j_outer: i32 = blockIdx.x of 2
  let i_outer: i32 = blockIdx.y of 2
  let tid: i32 = threadIdx.x of 16
  shared A_shared[16]: u32  # 4 x 4 tile of A
  shared B_shared[16]: u32 at byte 64  # 4 x 4 tile of B
  local AB[1]: u32  # 1 x 1 results of one thread
  let i: i32 = i_outer*4 + tid//4
  let j: i32 = j_outer*4 + tid%4
  AB[0] = 0
  for k_outer < 3:
    let A_k: i32 = k_outer*4 + tid%4
    let B_k: i32 = k_outer*4 + tid//4
    A_shared[tid] = async A[i*12 + A_k]
    B_shared[tid] = async B[B_k*8 + j]
    commit copies  # A_shared, B_shared
    wait for copies, 0 pending  # A_shared, B_shared: copied above, read below by AB
    sync block  # A_shared, B_shared: written above, read below by AB
    for k_inner < 4:
      AB[0] = AB[0] + A_shared[tid//4*4 + k_inner]*B_shared[k_inner*4 + tid%4]
    sync block  # A_shared, B_shared: read above by AB, overwritten by the next k_outer
  C[i*8 + j] = alpha*AB[0] + beta*(C[i*8 + j] where beta != 0 else 0)
)");
}

struct PipelineCounts {
  int commits = 0, barriers = 0;
  std::vector<std::int64_t> waits;
};

PipelineCounts counts(const kernel::Stmt &body) {
  PipelineCounts result;
  kernel::walk(body, [&](const kernel::Stmt &stmt) {
    result.commits += kernel::as<kernel::Commit>(stmt) != nullptr;
    result.barriers += kernel::as<kernel::Barrier>(stmt) != nullptr;
    if (const auto *wait = kernel::as<kernel::Wait>(stmt))
      result.waits.push_back(wait->pending);
  });
  return result;
}

/// A pipeline of n stages ends n - 1 groups before the loop, and leaves n - 2 of them in flight.
TEST(AsyncCopy, HasOneWaitOneBarrierAndOneCommitAStep) {
  for (std::int64_t stages : {2, 3, 4})
    for (std::int64_t k : {5, 8, 20, 37}) {
      TiledGemm t = copied(k, stages);
      kernel::Kernel kernel = lower(t.s).only();
      SCOPED_TRACE(kernel::print(kernel));
      PipelineCounts all = counts(kernel.body);
      EXPECT_EQ(all.commits, stages);
      EXPECT_EQ(all.waits, std::vector<std::int64_t>{stages - 2});
      EXPECT_EQ(all.barriers, 1);
    }
}

/// A partition removes the copies of a step, but the step keeps its commit.
TEST(AsyncCopy, EndsAGroupInStepsWithoutCopies) {
  TiledGemm t = copied(21, 3);
  t.s.partition(t.k_outer);
  kernel::Kernel kernel = lower(t.s).only();
  PipelineCounts all = counts(kernel.body);
  EXPECT_EQ(all.waits.size() + 2, static_cast<std::size_t>(all.commits)) << kernel::print(kernel);
}

/// A tile of ordinary stores needs a barrier of its own, which also orders the asynchronous tile.
TEST(AsyncCopy, SharesTheBarrierOfAnOrdinaryTile) {
  TiledGemm t(8, 8, 12);
  t.s.async_copy(t.A);
  kernel::Kernel kernel = lower(t.s).only();
  EXPECT_EQ(counts(kernel.body).barriers, 2) << kernel::print(kernel);
}

TEST(AsyncCopy, FillsTailsByItsMask) {
  TiledGemm t(7, 6, 11);
  for (BlockRef tile : {t.A, t.B})
    t.s.async_copy(tile);
  std::string text = kernel::print(lower(t.s));
  EXPECT_TRUE(contains(text, "A_shared[tid] = async (A[i*11 + A_k] where i < 7 and A_k < 11 else 0)")) << text;
}

TEST(AsyncCopy, HasTheWidthOfItsVector) {
  for (std::int64_t lanes : {2, 4}) {
    Schedule s(test::gemm(8, 8, 8, DType::f32));
    BlockRef tile = s.cache_read(s.block("AB"), "B", Scope::shared);
    s.compute_at(tile, s.split(s.loop("i"), {infer, 8})[0]);
    s.vectorize(s.split(s.loops(tile).back(), {infer, lanes})[1]);
    s.async_copy(tile);
    for (bool transposed : {false, true}) {
      if (transposed)
        s.transform_layout(tile, "k, j -> j, k");
      int found = 0;
      kernel::walk(lower(s).kernels.front().body, [&](const kernel::Stmt &stmt) {
        const auto *store = kernel::as<kernel::Store>(stmt);
        if (!store || !store->async)
          return;
        ++found;
        EXPECT_EQ(store->lanes, transposed ? 1 : lanes);
        EXPECT_EQ(store->value.as<Load>()->lanes, store->lanes);
      });
      EXPECT_EQ(found, transposed ? lanes : 1);
    }
  }
}

/// The operands of the first step of the next tile are loaded before the last step of the current tile.
TEST(JoinPipelines, ReadsAsWrittenByHand) {
  test::FragmentGemm t(8, 8, 20);
  t.join(3, true);
  std::string text = kernel::print(lower(t.s));
  std::size_t loop = text.find("  for k_outer < 5:");
  ASSERT_NE(loop, std::string::npos) << text;
  EXPECT_EQ("\n" + text.substr(loop), R"(
  for k_outer < 5:
    let A_k'2: i32 = k_outer*4 + tid%4 + 8
    let B_k'2: i32 = k_outer*4 + tid//4 + 8
    if k_outer + 2 < 5:  # not in the last 2 iterations of k_outer
      A_shared[(k_outer + 2)%3*16 + tid] = async A[i*20 + A_k'2]
      B_shared[(k_outer + 2)%3*16 + tid] = async B[B_k'2*8 + j]
    commit copies  # A_shared, B_shared
    for k_inner < 3 unrolled:
      A_shared_local[(k_inner + 1)%2] = A_shared[k_outer%3*16 + tid//4*4 + k_inner + 1]
      B_shared_local[(k_inner + 1)%2] = B_shared[k_outer%3*16 + k_inner*4 + tid%4 + 4]
      AB[0] = AB[0] + A_shared_local[k_inner%2]*B_shared_local[k_inner%2]
    wait for copies, 1 pending  # A_shared, B_shared: copied above, read below
    sync block  # A_shared, B_shared: written above, read below; read above, overwritten by the next k_outer
    if k_outer + 1 < 5:  # not in the last iteration of k_outer
      A_shared_local[0] = A_shared[(k_outer + 1)%3*16 + tid//4*4]
      B_shared_local[0] = B_shared[(k_outer + 1)%3*16 + tid%4]
    AB[0] = AB[0] + A_shared_local[1]*B_shared_local[1]
  C[i*8 + j] = alpha*AB[0] + beta*(C[i*8 + j] where beta != 0 else 0)
)");
}

TEST(JoinPipelines, HasOneBarrierATile) {
  for (std::int64_t stages : {2, 3, 4})
    for (std::int64_t k : {8, 20, 37}) {
      test::FragmentGemm t(8, 8, k);
      t.join(stages, true);
      kernel::Kernel kernel = lower(t.s).only();
      PipelineCounts all = counts(kernel.body);
      EXPECT_EQ(all.waits, (std::vector<std::int64_t>{stages - 2, stages - 2})) << kernel::print(kernel);
      EXPECT_EQ(all.barriers, 2) << kernel::print(kernel);
    }
}

TEST(VerifyKernel, RefusesAsynchronousStoresThatAreNoCopies) {
  kernel::Kernel kernel = lower(copied(12, 2).s).only();
  auto with = [&](const auto &change) {
    return test::breach_of_changed(
        kernel, [](const kernel::Store &store) { return static_cast<bool>(store.async); }, change);
  };
  EXPECT_EQ(with([](kernel::Store &) {}), "");
  EXPECT_TRUE(contains(with([](kernel::Store &x) { x.value = x.value + int_imm(1, DType::u32); }),
                       "which is no copy from global to shared memory"));
}

/// A copy reads as many elements of a vector as exist, and never more than the vector has.
TEST(VerifyKernel, RefusesCountsThatAreNoPartOfAVector) {
  Workload w("rows");
  Tensor x = w.placeholder("X", {8, 37}, DType::f32, {.leading = 40});
  Reduce r = reduce_axis("r", 37);
  Schedule s(w.output({w.compute("Y", {8}, {"i"}, [&](Expr i) { return sum(x(i, r), r); })}));
  auto Y = s.block("Y");
  Loop outer = s.split(s.loops(Y)[1], {infer, 16})[0];
  auto tile = s.cache_read(Y, "X", Scope::shared);
  s.compute_at(tile, outer);
  s.async_copy(tile);
  s.vectorize(s.split(s.loops(tile).back(), {infer, 4})[1]);
  const kernel::Kernel kernel = lower(s).only();
  auto with = [&](const auto &change) {
    return test::breach_of_changed(
        kernel, [](const kernel::Store &store) { return static_cast<bool>(store.count.exists()); }, change);
  };
  auto number = [](std::int64_t n) { return int_imm(n, DType::i32); };
  EXPECT_EQ(with([](kernel::Store &) {}), "");
  EXPECT_EQ(with([&](kernel::Store &x) { x.count = number(4); }), "");
  for (const Expr &wrong : {number(5), number(-1)})
    EXPECT_TRUE(contains(with([&](kernel::Store &x) { x.count = wrong; }),
                         "elements of X_shared are copied, which may be fewer than 0 or more than 4"));
  EXPECT_TRUE(
      contains(with([&](kernel::Store &x) { x.async = false; }),
               "a part of a vector of X_shared is stored, but only an asynchronous copy may read a part"));
}

TEST(VerifyKernel, RefusesWaitsThatOnlySomeThreadsReach) {
  kernel::Kernel kernel = lower(copied(12, 2).s).only();
  for (const kernel::Stmt &stmt : {kernel::make(kernel::Wait{0}), kernel::make(kernel::Commit{})}) {
    kernel::Kernel changed = kernel;
    Expr some = Expr(kernel.indices.back().var) < int_imm(1, DType::i32);
    changed.body = kernel::make_seq({kernel::make(kernel::If{some, stmt}), kernel.body});
    EXPECT_TRUE(contains(kernel::find_breach(changed, true).value_or(""),
                         "stands below a guard that differs between the threads of a block"));
  }
}

/// A kernel computes the address of a copy even if the mask of the copy is false. So the index is loaded under
/// a mask of its own and is not read past the end of I.
TEST(AsyncCopy, OfAGatherLoadsNoIndexPastTheEnd) {
  auto text = [](std::int64_t n, bool masked) {
    Workload w("gather");
    Tensor x = w.placeholder("X", {64}, DType::u32), at = w.placeholder("I", {n}, DType::i32);
    Tensor t = w.compute("T", {n}, {"a"}, [&](Expr a) -> Definition {
      Expr index = cast(DType::i64, at(a)) % 64;
      return masked ? x.where(a < 5, index) : x(index);
    });
    Tensor y = w.compute("Y", {n}, {"i"}, [&](Expr i) { return t(i) * 2; });
    Schedule s(w.output({y}));
    auto T = s.block("T");
    auto [block, thread] = s.split(s.loops(s.block("Y"))[0], {infer, 16});
    s.set_scope(T, Scope::shared);
    s.compute_at(T, block);
    s.bind(block, Axis::block_x);
    s.bind(thread, Axis::thread_x);
    s.bind(s.loops_below(T, block).back(), Axis::thread_x);
    s.async_copy(T);
    return kernel::print(lower(s));
  };
  EXPECT_TRUE(contains(text(37, false), "(I[a] where a < 37 else 0)")) << text(37, false);
  EXPECT_TRUE(contains(text(32, false), "async X[")) << text(32, false);
  EXPECT_FALSE(contains(text(32, false), "where")) << text(32, false);
  EXPECT_TRUE(contains(text(32, true), "(I[a] where a < 5 else 0)")) << text(32, true);
}

/// A copy past the end of a pipelined loop whose address depends on memory keeps its branch: the address is
/// computed under any mask. Others get the condition as a part of the mask.
TEST(AsyncCopy, PastTheEndOfAPipelineReadsNoIndexThatDoesNotExist) {
  auto text = [](bool gathers) {
    Workload w("sums");
    Expr k = w.size("K", {.multiple_of = 4}), n = 32;
    Tensor x = w.placeholder("X", {64, n}, DType::f32), y = w.placeholder("Y", {k, n}, DType::f32);
    Tensor at = w.placeholder("I", {k}, DType::i32);
    Reduce r = reduce_axis("k", k);
    Tensor s = w.compute("S", {n}, {"i"}, [&](Expr i) {
      return gathers ? sum(x(cast(DType::i64, at(r)) % 64, i), r) : sum(y(r, i), r);
    });
    Schedule schedule(w.output({s}));
    auto S = schedule.block("S");
    auto [i, over] = schedule.loops<2>(S);
    schedule.bind(i, Axis::thread_x);
    auto [outer, inner] = schedule.split(over, {infer, 4});
    auto T = schedule.reindex_cache_read(S, gathers ? "X" : "Y", Scope::shared);
    schedule.compute_at(T, outer);
    schedule.bind(schedule.loops_below(T, outer).front(), Axis::thread_x); // i
    schedule.async_copy(T);
    schedule.pipeline(outer, {{T, 0, 0}, {S, 2, 1}});
    return kernel::print(lower(schedule));
  };
  EXPECT_TRUE(contains(text(false), "k_outer + 2 < K//4 else 0")) << text(false);
  EXPECT_FALSE(contains(text(false), "if k_outer + 2 < K//4")) << text(false);
  EXPECT_TRUE(contains(text(true), "if k_outer + 2 < K//4")) << text(true);
}

} // namespace
} // namespace nestsmith
