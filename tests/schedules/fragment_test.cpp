/// Tests fragments, which are buffers distributed over the lanes of a warp, in schedules without intrinsics.

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "schedules/fetch.h"
#include "schedules/workloads.h"
#include "tests/accumulator.h"
#include "tests/dsl/support.h"
#include "tests/gemm_sizes.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::accumulator;
using test::contains;
using test::owed;

/// Binds the loops over rows and columns of 16 x 8 tiles to the lanes that hold the elements of `accumulator`.
/// Returns the loops inside the lane.
std::vector<Loop> bind_to_lanes(Schedule &s, Loop i, Loop j) {
  auto [i_tile, i_half, i_lane] = s.split(i, {infer, 2, 8});
  auto [j_tile, j_lane, j_pair] = s.split(j, {infer, 4, 2});
  s.reorder({i_lane, j_lane, i_tile, j_tile, i_half, j_pair});
  s.bind(s.fuse(i_lane, j_lane), Axis::lane);
  return {i_tile, j_tile, i_half, j_pair};
}

/// Schedules tiles of 32 x 32 for 4 warps with 16 x 16 each. The sums are fragments, and the operands are in
/// shared memory.
Schedule product_in_fragments(const Shape &shape, DType dtype, const std::string &layout = accumulator) {
  Schedule s(gemm(shape, dtype));
  auto AB = s.block("AB"), C = s.block("C");
  auto [i, j, k] = s.loops<3>(AB);
  auto [i_block, i_warp, i_in] = s.split(i, {infer, 2, 16});
  auto [j_block, j_warp, j_in] = s.split(j, {infer, 2, 16});
  auto [k_outer, k_inner] = s.split(k, {infer, 8});
  s.reorder({i_block, j_block, i_warp, j_warp, k_outer, k_inner, i_in, j_in});
  s.set_scope(AB, Scope::warp);
  auto warp = s.fuse(i_warp, j_warp);
  s.reverse_compute_at(C, warp);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(warp, Axis::warp);
  fetch_tile(s, AB, "A", k_outer, 128);
  fetch_tile(s, AB, "B", k_outer, 128);
  bind_to_lanes(s, i_in, j_in);
  auto out = s.loops_below(C, warp);
  bind_to_lanes(s, out[0], out[1]);
  if (!layout.empty())
    s.transform_layout(AB, layout);
  return s;
}

TEST(Fragment, HoldsTheSumsOfAProduct) {
  for (const Shape &shape : {Shape{32, 32, 8}, Shape{1, 1, 1}, Shape{33, 31, 17}, Shape{64, 37, 9}})
    for (DType dtype : {DType::f32, DType::u32}) {
      Schedule s = product_in_fragments(shape, dtype);
      ASSERT_EQ(owed(s), "");
      kernel::Plan plan = lower(s);
      SimExecutor simulator;
      CheckResult result = check(s, plan, simulator);
      EXPECT_TRUE(result.passed) << to_string(shape) << (result.passed ? "" : result.messages().front());
    }
}

TEST(Fragment, KeepsItsMeaningAtEveryStep) {
  EXPECT_TRUE(test::same_meaning(product_in_fragments({33, 18, 9}, DType::u32)));
}

TEST(Fragment, IsAnArrayOfRegistersInOneLane) {
  kernel::Plan plan = lower(product_in_fragments({64, 64, 64}, DType::f32));
  std::string text = kernel::print(plan.kernels.front());
  EXPECT_EQ(plan.kernels.front().threads(), 128);
  EXPECT_TRUE(contains(text, "let lane: i32 = tid%32")) << text;
  EXPECT_TRUE(contains(text, "let warp: i32 = tid//32")) << text;
  EXPECT_EQ(as_int(plan.kernels.front().local.front().buffer->shape.front()), 8) << text;
}

/// A warp computes a row of 32 results. All threads load the tiles through registers, by threadIdx.x.
TEST(Warps, NumberTheThreadsOfThreadIdxX) {
  for (const Shape &shape : {Shape{4, 64, 64}, Shape{3, 33, 70}}) {
    Schedule s(gemm(shape, DType::f32));
    auto AB = s.block("AB"), C = s.block("C");
    s.set_scope(AB, Scope::local);
    auto [i, j, k] = s.loops<3>(AB);
    auto [i_block, warp] = s.split(i, {infer, 2});
    auto [j_block, lane] = s.split(j, {infer, 32});
    auto [k_outer, k_inner] = s.split(k, {infer, 32});
    s.reorder({i_block, j_block, warp, lane, k_outer, k_inner});
    s.reverse_compute_at(C, lane);
    s.bind(i_block, Axis::block_y);
    s.bind(j_block, Axis::block_x);
    s.bind(warp, Axis::warp);
    s.bind(lane, Axis::lane);
    for (const char *operand : {"A", "B"})
      fetch_through_registers(s, s.cache_read(AB, operand, Scope::shared), operand, k_outer, 64, false);
    s.double_buffer(k_outer);
    ASSERT_EQ(owed(s), "");
    SimExecutor simulator;
    CheckResult result = check(s, lower(s), simulator);
    EXPECT_TRUE(result.passed) << (result.passed ? "" : result.messages().front());
  }
}

TEST(Warps, OweTheThreadsThatTheyLeaveOut) {
  Schedule s(gemm({4, 32, 16}, DType::f32));
  auto C = s.block("C");
  auto [i, j] = s.loops<2>(C);
  s.bind(j, Axis::lane);
  auto tile = s.cache_read(C, "AB", Scope::shared);
  s.compute_at(tile, i);
  auto [round, thread] = s.split(s.fuse(s.loops(tile)[1], s.loops(tile)[2]), {infer, 64});
  s.bind(thread, Axis::thread_x);
  EXPECT_TRUE(
      contains(owed(s), "block C writes the same elements of C (global memory) for all 2 indices of warp"))
      << owed(s);
}

TEST(Fragment, OwesALayout) {
  EXPECT_TRUE(
      contains(owed(product_in_fragments({32, 32, 8}, DType::f32, "")),
               "AB is in the scope warp, but no layout gives the lane and the register of its elements"));
}

TEST(Fragment, OwesTheLaneThatHoldsTheElement) {
  std::string rows = owed(product_in_fragments({32, 32, 8}, DType::f32, "i, j -> i%8*4 + j%4, i//8, j//4"));
  EXPECT_TRUE(contains(rows,
                       "in lane i_2_2_j_2_1, but lane i_2_2_j_2_1//4*4 + i_2_2_j_2_1%2*2 + j_2_2 holds this "
                       "element; split and fuse the loops of AB"))
      << rows;
}

TEST(Fragment, OwesALaneBelowThirtyTwo) {
  std::string wide = owed(product_in_fragments({32, 32, 8}, DType::f32, "i, j -> i*4 + j%8//2, j//8, j%2"));
  EXPECT_TRUE(contains(wide, "is the lane, and reaches 63, expected 0 to 31")) << wide;
  std::string same = owed(product_in_fragments({32, 32, 8}, DType::f32, "i, j -> i%8*4 + j%8//2, i//8, j//8"));
  EXPECT_TRUE(contains(same, "both map to")) << same;
}

TEST(Fragment, OwesALaneLoop) {
  Schedule s(gemm({32, 32, 8}, DType::f32));
  auto AB = s.block("AB"), C = s.block("C");
  auto [i, j, k] = s.loops<3>(AB);
  s.set_scope(AB, Scope::warp);
  s.transform_layout(AB, accumulator);
  auto out = s.loops(C);
  bind_to_lanes(s, out[0], out[1]);
  std::string text = owed(s);
  EXPECT_TRUE(contains(text, "but block AB writes it without a loop that is bound to lane")) << text;
}

} // namespace
} // namespace nestsmith
