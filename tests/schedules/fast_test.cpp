/// Random points of the schedules with many knobs.

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

/// The points that are known to be fast, by size.
TEST(FastGemm, HasTheKnownGoodPoints) {
  const Rung &gemm = test::rung("fast/gemm");
  for (const char *point : {"warps=2x1,lanes=4x8,results=4x4,zigzag=false,bk=32,blocks=8",
                            "warps=2x2,lanes=4x8,results=8x8,bk=16,blocks=3", "warps=4x2,bk=16,blocks=2"}) {
    Knobs knobs(parse_knobs(point));
    Schedule schedule = gemm.build({1024, 1024, 1024}, DType::f32, Target{}, knobs);
    EXPECT_TRUE(schedule.obligations().empty()) << point;
    knobs.refuse_unknown();
  }
}

} // namespace
} // namespace nestsmith
