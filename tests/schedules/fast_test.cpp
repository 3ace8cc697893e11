/// Tests random points of the schedules with many knobs.

#include "schedules/workloads.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"
#include "tests/schedules/rung.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

TEST(FastGemm, IsRefusedOrRightAtRandomPoints) {
  const Rung &gemm = test::rung("fast/gemm");
  SimExecutor simulator;
  int legal = 0;
  for (std::uint64_t seed = 0; seed < 32; ++seed)
    for (const Shape &shape : {Shape{33, 67, 18}, Shape{130, 36, 20}}) {
      Knobs knobs = Knobs::random(seed);
      std::string point = to_string(shape);
      try {
        Schedule schedule = gemm.build(shape, DType::u32, Target{}, knobs);
        point += " " + to_string(knobs.chosen());
        CheckResult result = check(schedule, lower(schedule), simulator);
        EXPECT_TRUE(result.passed) << point << "\n" << test::all_messages(result);
        ++legal;
      } catch (const ScheduleError &) {
      }
    }
  EXPECT_GT(legal, 40);
}

TEST(FastGemm, SharesTilesAmongBlocksWithoutAnotherResult) {
  const Rung &gemm = test::rung("fast/gemm");
  struct Case {
    Shape shape;
    const char *point;
  };
  for (const Case &x : {Case{{64, 256, 512}, "split_k=8"}, Case{{128, 128, 4096}, "split_k=16"},
                        Case{{33, 65, 130}, "split_k=4"}, Case{{33, 65, 130}, "split_k=4,group=4,bk=8"},
                        Case{{33, 100, 130}, "split_k=2,results=8x12,warps=1x1"},
                        Case{{70, 132, 300}, "split_k=2,fragments=true,columns=true,bk=8"},
                        Case{{1, 1, 64}, "split_k=2,warps=1x1,prefetch=false"}})
    for (DType dtype : {DType::u32, DType::f32}) {
      Knobs knobs(parse_knobs(x.point));
      Schedule schedule = gemm.build(x.shape, dtype, Target{}, knobs);
      ASSERT_TRUE(schedule.obligations().empty()) << schedule.obligations().front().message;
      kernel::Plan plan = lower(schedule);
      EXPECT_EQ(plan.kernels.size(), 1U);
      for (std::uint64_t order : {0, 1}) {
        SimExecutor simulator({.order = order});
        CheckResult result = check(schedule, plan, simulator);
        EXPECT_TRUE(result.passed) << x.point << "\n" << test::all_messages(result);
      }
    }
}

TEST(FastGemm, CopiesAsynchronouslyWithoutAnotherResult) {
  const Rung &gemm = test::rung("fast/gemm");
  struct Case {
    Shape shape;
    const char *point;
  };
  for (const Case &x :
       {Case{{64, 128, 64}, "stages=2"}, Case{{64, 128, 80}, "stages=3"}, Case{{67, 130, 81}, "stages=4"},
        Case{{33, 100, 70}, "stages=3,fragments=true,columns=true,bk=8"},
        Case{{67, 130, 81}, "stages=3,fragments=true,joined=true"},
        Case{{64, 128, 80}, "stages=4,fragments=true,joined=true,last_k=true,snake=true"},
        // 15 steps with 8 and 4 copies, and 7 steps with 8 and 2 copies
        Case{{67, 130, 81}, "stages=3,fragments=true,joined=true,spread=true,warps=2x1,results=8x4"},
        Case{{64, 128, 80}, "stages=2,fragments=true,joined=true,spread=true,warps=1x1,bk=8,last_k=true"},
        // The same copies in 4 and 2 steps
        Case{{67, 130, 81},
             "stages=3,fragments=true,joined=true,spread=true,warps=2x1,results=8x4,copy_steps=4"},
        Case{{64, 128, 80},
             "stages=2,fragments=true,joined=true,spread=true,warps=1x1,bk=8,last_k=true,copy_steps=2"},
        Case{{64, 256, 512}, "stages=3,split_k=8"}, Case{{130, 260, 40}, "results=8x16,warps=1x1,bk=8"}})
    for (DType dtype : {DType::u32, DType::f32}) {
      Knobs knobs(parse_knobs(std::string("async=true,") + x.point));
      Schedule schedule = gemm.build(x.shape, dtype, Target{}, knobs);
      ASSERT_TRUE(schedule.obligations().empty()) << schedule.obligations().front().message;
      kernel::Plan plan = lower(schedule);
      SimExecutor simulator;
      CheckResult result = check(schedule, plan, simulator);
      EXPECT_TRUE(result.passed) << x.point << "\n" << test::all_messages(result);
    }
}

TEST(FastGemm, OffersAsynchronousCopiesWhereTheyArePossible) {
  const Rung &gemm = test::rung("fast/gemm");
  auto offers = [&](DType dtype, const char *arch) {
    Knobs knobs;
    (void)gemm.build({64, 64, 64}, dtype, make_target(arch), knobs);
    return std::ranges::any_of(knobs.asked(), [](const Knob &knob) { return knob.name == "async"; });
  };
  EXPECT_TRUE(offers(DType::f32, "sm_80"));
  EXPECT_FALSE(offers(DType::f32, "sm_75"));
  EXPECT_FALSE(offers(DType::f16, "sm_80"));
}

TEST(FastGemm, OffersPartsOfKOnlyWhereEachHasTwoTiles) {
  const Rung &gemm = test::rung("fast/gemm");
  auto parts = [&](std::int64_t k) {
    Knobs knobs;
    (void)gemm.build({64, 64, k}, DType::f32, Target{}, knobs);
    for (const Knob &knob : knobs.asked())
      if (knob.name == "split_k")
        return knob.candidates.size();
    return std::size_t{0};
  };
  EXPECT_EQ(parts(63), 0U);
  EXPECT_EQ(parts(64), 2U);
  EXPECT_EQ(parts(512), 10U);
}

/// Groups of tiles would need guards in the last rows. With asynchronous copies, the number of blocks leaves 64
/// registers of a thread for addresses.
TEST(FastGemm, ForAllSizesHasNoGroupsAndANumberOfBlocksOfItsOwn) {
  const Rung &gemm = test::rung("fast/gemm");
  Shape any = {64, 64, 64};
  any.stated = Size{.max = 1000};
  auto blocks = [&](const std::string &point) {
    Knobs knobs(parse_knobs(point));
    (void)gemm.build(any, DType::f32, make_target("sm_90a"), knobs);
    EXPECT_EQ(knobs.chosen().at("group"), "1");
    return knobs.chosen().at("blocks");
  };
  EXPECT_EQ(blocks("async=true,warps=2x2,results=4x4,bk=32"), "5");
  EXPECT_EQ(blocks("async=true,warps=2x1,results=4x4"), "5");
  EXPECT_EQ(blocks("async=true,warps=2x2,results=8x4"), "4");
  EXPECT_EQ(blocks("async=true,warps=2x2,results=8x8"), "3");
  EXPECT_EQ(blocks("async=true,warps=4x2,results=8x16"), "1");
  EXPECT_EQ(blocks("async=false,warps=2x2,results=4x4"), "0") << "rows at any place";
  test::expect_user_error([&] { blocks("async=true,group=4"); }, ExitCode::usage,
                          "the knob 'group' is '4', expected one of 1");
}

/// In one size, the sum of parts takes registers that would leave fewer blocks for the loop over k. A thread
/// with many copies of single elements keeps them for addresses, and a block that has a multiprocessor for
/// itself needs no bound.
TEST(FastGemm, StatesTheBlocksOfASumOfParts) {
  const Rung &gemm = test::rung("fast/gemm");
  auto blocks = [&](const Shape &shape, const std::string &point) {
    Knobs knobs(parse_knobs(point));
    (void)gemm.build(shape, DType::f32, make_target("sm_90a"), knobs);
    return knobs.chosen().at("blocks");
  };
  const std::string wide = "async=true,warps=1x4,results=8x4,split_k=";
  EXPECT_EQ(blocks({464, 880, 2108}, wide + "5"), "4");
  EXPECT_EQ(blocks({464, 880, 2108}, wide + "1"), "3") << "no parts";
  EXPECT_EQ(blocks({64, 256, 2108}, wide + "5"), "3") << "20 blocks";
  EXPECT_EQ(blocks({463, 881, 2107}, wide + "5"), "3") << "20 copies of a thread";
  EXPECT_EQ(blocks({464, 882, 2106}, wide + "5"), "4") << "12 copies";
  EXPECT_EQ(blocks({464, 880, 2108}, "async=true,warps=2x1,results=8x4,split_k=2"), "8");
  EXPECT_EQ(blocks({463, 881, 2107}, "async=false,warps=2x2,results=8x4,split_k=4"), "4");
}

TEST(FastGemm, DoesNotStartEarlyWithAnEvenTail) {
  auto early = [](const Shape &shape, const char *even) {
    Knobs knobs(parse_knobs(std::string("roles=true,warps=2x2,results=8x8,early=true") + even));
    const Schedule s = test::rung("fast/gemm").build(shape, DType::f32, make_target("sm_90a"), knobs);
    return s.program().launches_early;
  };
  EXPECT_FALSE(early({780, 1436, 5852}, ",even=1"));
  EXPECT_TRUE(early({780, 1436, 5852}, ",even=0"));
}

/// The points that are known to be fast, by size, must be in the space.
TEST(FastGemm, HasTheKnownGoodPoints) {
  const Rung &gemm = test::rung("fast/gemm");
  for (const char *point : {"warps=2x1,lanes=4x8,results=4x4,zigzag=false,bk=32,blocks=8",
                            "warps=2x2,lanes=4x8,results=8x8,bk=16,blocks=3", "warps=4x2,bk=16,blocks=2",
                            "warps=4x2,results=8x16,bk=8,async=true,stages=3,blocks=1"}) {
    Knobs knobs(parse_knobs(point));
    Schedule schedule = gemm.build({1024, 1024, 1024}, DType::f32, Target{}, knobs);
    EXPECT_TRUE(schedule.obligations().empty()) << point;
    knobs.refuse_unknown();
  }
}

} // namespace
} // namespace nestsmith
