/// Tests tiles for few rows or columns, which the knobs of the products reach.

#include "lowering/lower.h"
#include "schedules/workloads.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/rung.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

struct NarrowCase {
  const char *point;
  Shape shape;
  std::int64_t threads; ///< of a block
  std::int64_t blocks;  ///< which shows the extents of the tile
};

void expect_narrow(const char *rung, DType dtype, const std::vector<NarrowCase> &cases) {
  SimExecutor simulator;
  for (const NarrowCase &x : cases) {
    Knobs knobs(parse_knobs(x.point));
    Schedule schedule = test::rung(rung).build(x.shape, dtype, Target{}, knobs);
    knobs.refuse_unknown();
    ASSERT_TRUE(schedule.obligations().empty()) << schedule.obligations().front().message;
    kernel::Plan plan = lower(schedule);
    auto grid = plan.only().grid();
    EXPECT_EQ(plan.only().threads(), x.threads) << x.point;
    EXPECT_EQ(grid[0] * grid[1] * grid[2], x.blocks) << x.point;
    CheckResult result = check(schedule, plan, simulator);
    EXPECT_TRUE(result.passed) << x.point << "\n" << test::all_messages(result);
  }
}

TEST(NarrowTiles, OfRegistersAreReachedByKnobs) {
  expect_narrow("fast/gemm", DType::u32,
                {{"warps=1x4,results=4x4,lanes=4x8", {16, 129, 33}, 128, 2},            // 16x128
                 {"warps=1x8,results=4x4,lanes=4x8", {16, 257, 33}, 256, 2},            // 16x256
                 {"warps=1x4,results=8x4,lanes=4x8,async=true", {32, 129, 33}, 128, 2}, // 32x128
                 {"warps=1x2,results=4x16,lanes=4x8,bk=8", {9, 257, 20}, 64, 2},        // 16x256
                 {"warps=2x2,results=8x4,lanes=4x8", {65, 64, 20}, 128, 2},             // 64x64
                 {"warps=1x2,results=4x4,lanes=2x16", {8, 130, 33}, 64, 2},             // 8x128
                 {"warps=4x1,results=4x4,lanes=8x4", {129, 16, 33}, 128, 2},            // 128x16
                 {"warps=2x1,results=16x4,lanes=8x4,bk=8", {257, 3, 20}, 64, 2}});      // 256x16
}

TEST(EdgeTiles, MayBeTheOnlyOnesOfTheirSide) {
  for (const Shape &shape : {Shape{64, 100, 20}, Shape{128, 20, 20}, Shape{33, 128, 20}, Shape{5, 6, 20}})
    for (const char *point : {"warps=1x2,results=8x8,group=4", "warps=1x2,results=8x8"}) {
      Knobs knobs(parse_knobs(point));
      Schedule schedule = test::rung("fast/gemm").build(shape, DType::u32, Target{}, knobs);
      SimExecutor simulator;
      CheckResult result = check(schedule, lower(schedule), simulator);
      EXPECT_TRUE(result.passed) << to_string(shape) << point << "\n" << test::all_messages(result);
    }
}

/// A second copy of the loop over k costs more than guards in the few tiles that have none.
TEST(EdgeTiles, HaveCodeOfTheirOwnIfMostTilesAreFull) {
  struct Case {
    Shape shape;
    bool own;
  };
  for (const auto &[shape, own] :
       {Case{{36, 100, 20}, true}, Case{{20, 90, 20}, false}, Case{{40, 200, 20}, true},
        Case{{16, 90, 20}, true},
        Case{{32, 96, 20}, false}}) { // full tiles of 16x32: 6 of 12, 2 of 6, 12 of 21, 2 of 3, and all
    Knobs knobs(parse_knobs("warps=1x1,results=4x4,lanes=4x8,bk=8,group=1"));
    Schedule schedule = test::rung("fast/gemm").build(shape, DType::f32, Target{}, knobs);
    kernel::Plan plan = lower(schedule);
    EXPECT_EQ(kernel::print(plan).find("# all tiles are full") != std::string::npos, own) << to_string(shape);
    SimExecutor simulator;
    CheckResult result = check(schedule, plan, simulator);
    EXPECT_TRUE(result.passed) << to_string(shape) << "\n" << test::all_messages(result);
  }
}

/// The masks of asynchronous copies cost less than a second copy of the loop.
TEST(EdgeTiles, OfAsynchronousCopiesForAllSizesShareTheCode) {
  Shape any = {64, 64, 64};
  any.stated = Size{.max = 1000};
  for (bool async : {false, true}) {
    Knobs knobs(parse_knobs("warps=1x1,results=4x4,lanes=4x8,bk=8"));
    knobs.prefer({{"async", async ? "true" : "false"}});
    Schedule schedule = test::rung("fast/gemm").build(any, DType::f32, make_target("sm_80"), knobs);
    EXPECT_EQ(kernel::print(lower(schedule)).find("# all tiles are full") == std::string::npos, async);
  }
}

TEST(EdgeTiles, OfMatrixUnitsHaveCodeOfTheirOwn) {
  for (const char *point :
       {"warps=1x1,results=16x16,edges=true,group=1", "warps=1x2,results=32x8,edges=true,group=4",
        "warps=1x1,results=16x16,edges=true,split_k=2,steps=1"})
    for (const Shape &shape : {Shape{50, 70, 67}, Shape{48, 70, 66}, Shape{49, 64, 64}}) {
      Knobs knobs(parse_knobs(point));
      Schedule schedule = test::rung("tensor/tuned").build(shape, DType::f16, Target{}, knobs);
      kernel::Plan plan = lower(schedule);
      EXPECT_NE(kernel::print(plan).find("# all tiles are full"), std::string::npos) << point;
      SimExecutor simulator;
      CheckResult result = check(schedule, plan, simulator);
      EXPECT_TRUE(result.passed) << point << "\n" << test::all_messages(result);
    }
}

TEST(NarrowTiles, OfMatrixUnitsAreReachedByKnobs) {
  expect_narrow("tensor/tuned", DType::f16,
                {{"warps=1x4,results=16x32,steps=4", {16, 136, 72}, 128, 2}, // 16x128
                 {"warps=1x8,results=16x32", {16, 264, 40}, 256, 2},         // 16x256
                 {"warps=1x4,results=16x64", {5, 264, 40}, 128, 2},          // 16x256
                 {"warps=1x4,results=32x64", {32, 264, 40}, 128, 2},         // 32x256
                 {"warps=1x1,results=16x16,steps=8", {17, 16, 136}, 32, 2},  // 16x16
                 {"warps=4x1,results=32x16", {136, 16, 40}, 128, 2},         // 128x16
                 {"warps=4x1,results=64x8,steps=4", {264, 8, 72}, 128, 2}}); // 256x8
  expect_narrow("tensor/nt", DType::i8, {{"warps=1x1,results=32x8,steps=4", {32, 16, 144}, 32, 2}});
}

} // namespace
} // namespace nestsmith
