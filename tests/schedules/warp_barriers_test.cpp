/// Tests that tiles which only lanes of one warp exchange need barriers of the warp, and that other tiles need
/// barriers of the block.

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "schedules/workloads.h"
#include "tests/codegen/host_text.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/runtime/sim/certificates.h"
#include "tests/schedules/host_compare.h"

namespace nestsmith {
namespace {

using kernel::SyncScope;
using test::expect_right;

/// The threads that copy the tiles of A to shared memory.
enum class Copy : std::uint8_t {
  warps,   ///< a warp copies its own row
  threads, ///< consecutive threads copy consecutive elements of the rows, which gives the same assignment
  columns, ///< a warp copies a part of each row
  async    ///< like `warps`, by asynchronous copies, two tiles ahead
};

/// C = A*B. Each of 4 warps computes a row of 32 results.
Schedule rows_by_warps(Copy copy, bool b_shared = false, const Shape &shape = {9, 33, 80}) {
  Schedule s(gemm(shape, DType::f32));
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, warp] = s.split(i, {infer, 4});
  auto [j_block, lane] = s.split(j, {infer, 32});
  auto [k_outer, k_inner] = s.split(k, {infer, 32});
  s.reorder({i_block, j_block, warp, lane, k_outer, k_inner});
  s.reverse_compute_at(C, lane);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(warp, Axis::warp);
  s.bind(lane, Axis::lane);
  auto fetch = [&](const char *operand, Copy by) {
    auto tile = s.cache_read(AB, operand, Scope::shared);
    s.compute_at(tile, k_outer);
    auto loops = s.loops_below(tile, k_outer);
    if (by == Copy::columns)
      s.reorder({loops[1], loops[0]});
    if (by == Copy::threads || by == Copy::columns) {
      Loop all = by == Copy::threads ? s.fuse(loops[0], loops[1]) : s.fuse(loops[1], loops[0]);
      s.bind(s.split(all, {infer, 128})[1], Axis::thread_x);
      return tile;
    }
    s.bind(loops[0], Axis::warp);
    s.bind(loops[1], Axis::lane);
    return tile;
  };
  std::vector<Stage> stages = {{fetch("A", copy), 0, 0}};
  if (b_shared)
    stages.push_back({fetch("B", Copy::threads), 0, 1});
  if (copy == Copy::async) {
    for (const Stage &stage : stages)
      s.async_copy(stage.block);
    stages.push_back({AB, 2, static_cast<std::int64_t>(stages.size())});
    s.pipeline(k_outer, stages);
  }
  return s;
}

std::vector<SyncScope> scopes_of(const kernel::Kernel &kernel) {
  std::vector<SyncScope> scopes;
  kernel::walk(kernel.body, [&](const kernel::Stmt &stmt) {
    if (const auto *barrier = kernel::as<kernel::Barrier>(stmt))
      scopes.push_back(barrier->scope);
  });
  return scopes;
}

TEST(WarpBarriers, AreEnoughForTheTileOfAWarp) {
  for (Copy copy : {Copy::warps, Copy::threads, Copy::async}) {
    Schedule s = rows_by_warps(copy);
    ASSERT_TRUE(s.obligations().empty()) << s.obligations().front().message;
    kernel::Kernel kernel = lower(s).only();
    EXPECT_EQ(scopes_of(kernel), std::vector(copy == Copy::async ? 1 : 2, SyncScope::warp))
        << kernel::print(kernel);
    expect_right(s);
    EXPECT_EQ(test::expect_certificates(s.source(), kernel), copy == Copy::async ? 1 : 2);
    EXPECT_EQ(test::expect_wait_certificates(s.source(), kernel), copy == Copy::async ? 1 : 0);
    EXPECT_TRUE(test::contains(cuda_kernel(kernel), "__syncwarp();  // A_shared: written above, read below"))
        << cuda_kernel(kernel);
  }
}

TEST(WarpBarriers, AreNotEnoughIfOtherWarpsWriteTheTile) {
  Schedule s = rows_by_warps(Copy::columns);
  kernel::Kernel kernel = lower(s).only();
  EXPECT_EQ(scopes_of(kernel), std::vector(2, SyncScope::block)) << kernel::print(kernel);
  expect_right(s);
  EXPECT_EQ(test::expect_certificates(s.source(), kernel), 2);
}

/// All warps read the tile of B. The barriers of its block also order the tile of A.
TEST(WarpBarriers, AreNotNeededNextToABarrierOfTheBlock) {
  for (Copy copy : {Copy::warps, Copy::async}) {
    Schedule s = rows_by_warps(copy, true);
    kernel::Kernel kernel = lower(s).only();
    std::vector<SyncScope> scopes = scopes_of(kernel);
    EXPECT_EQ(scopes, std::vector(copy == Copy::async ? 1 : 2, SyncScope::block)) << kernel::print(kernel);
    expect_right(s);
    test::expect_certificates(s.source(), kernel);
    test::expect_wait_certificates(s.source(), kernel);
  }
}

/// Each of four rows is written by the warp that reads it. Two digits, one in each dimension, identify the
/// warp.
TEST(WarpBarriers, AreEnoughIfTwoDigitsIdentifyTheWarp) {
  Schedule s(gemm({8, 32, 32}, DType::f32));
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_warp, i_in] = s.split(i, {2, infer});
  auto [j_warp, j_lane] = s.split(j, {2, 16});
  auto [i_outer, i_lane] = s.split(i_in, {infer, 2});
  s.reorder({i_warp, j_warp, i_lane, j_lane, i_outer, k});
  auto warp = s.fuse(i_warp, j_warp), lane = s.fuse(i_lane, j_lane);
  s.set_scope(AB, Scope::shared);
  s.reverse_compute_at(C, lane);
  s.bind(warp, Axis::warp);
  s.bind(lane, Axis::lane);
  kernel::Kernel kernel = lower(s).only();
  EXPECT_EQ(scopes_of(kernel), std::vector(1, SyncScope::warp)) << kernel::print(kernel);
  expect_right(s);
}

/// For a block of one warp, a barrier of the block costs no more.
TEST(WarpBarriers, AreNotUsedInBlocksOfOneWarp) {
  Schedule s(gemm({4, 32, 64}, DType::f32));
  auto AB = s.block("AB"), C = s.block("C");
  s.set_scope(AB, Scope::local);
  auto [i, j, k] = s.loops<3>(AB);
  auto [k_outer, k_inner] = s.split(k, {infer, 32});
  s.reverse_compute_at(C, j);
  s.bind(j, Axis::thread_x);
  auto tile = s.cache_read(AB, "A", Scope::shared);
  s.compute_at(tile, k_outer);
  s.bind(s.loops(tile).back(), Axis::thread_x);
  kernel::Kernel kernel = lower(s).only();
  EXPECT_EQ(scopes_of(kernel), std::vector(2, SyncScope::block)) << kernel::print(kernel);
  expect_right(s);
  EXPECT_EQ(test::expect_certificates(s.source(), kernel), 2);
}

TEST(WarpBarriers, RunOnTheHost) {
  if (!host::why_not().empty())
    GTEST_SKIP() << host::why_not();
  std::vector<Subject> subjects;
  for (Copy copy : {Copy::warps, Copy::threads, Copy::async}) {
    Schedule s = rows_by_warps(copy);
    kernel::Plan plan = lower(s);
    subjects.push_back({std::to_string(static_cast<int>(copy)), std::move(s), std::move(plan)});
  }
  for (const std::string &problem : differences_on_host(subjects))
    ADD_FAILURE() << problem;
}

} // namespace
} // namespace nestsmith
