/// Tests principles/unfused and principles/fused: the temporary that two kernels pass through memory is in a
/// register of the fused kernel.

#include "codegen/emit.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "schedules/principles/rungs.h"
#include "tests/golden.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

std::uint64_t accesses(const Schedule &schedule) {
  SimExecutor simulator;
  Inputs inputs = make_inputs(schedule.source(), CheckRun::random, 1);
  EXPECT_TRUE(simulator.run(lower(schedule), inputs.arrays, inputs.scalars).diagnostics.empty());
  return simulator.stats().loads_global + simulator.stats().stores_global;
}

TEST(Fusion, HalvesWhatIsMoved) {
  for (std::int64_t n : {1, 255, 1000}) {
    EXPECT_EQ(accesses(principles::unfused({n}, DType::f32, {})), 4U * static_cast<std::uint64_t>(n));
    EXPECT_EQ(accesses(principles::fused({n}, DType::f32, {})), 2U * static_cast<std::uint64_t>(n));
  }
}

TEST(Fusion, TheFilesThatAreShipped) {
  auto text = [](const Schedule &schedule, const char *title) {
    EmitInfo info;
    info.title = title;
    info.sizes = {{"N", 1000}};
    return emit(info, lower(schedule));
  };
  EXPECT_TRUE(matches_golden("principles_unfused_1000_emit.cu",
                             text(principles::unfused({1000}, DType::f32, {}), "relu(x + 1), unfused")));
  EXPECT_TRUE(matches_golden("principles_fused_1000_emit.cu",
                             text(principles::fused({1000}, DType::f32, {}), "relu(x + 1), fused")));
}

/// A chain of 16 steps is as many kernels, or one without temporaries.
TEST(Launches, AreAsManyAsTheStepsThatAreNotInlined) {
  for (const Shape &shape : {Shape{1}, Shape{127}, Shape{4096}}) {
    auto n = static_cast<std::uint64_t>(shape[0]);
    Schedule many = principles::launches(shape, DType::f32, {}),
             one = principles::one_launch(shape, DType::f32, {});
    EXPECT_EQ(lower(many).kernels.size(), 16U);
    EXPECT_EQ(lower(one).kernels.size(), 1U);
    EXPECT_EQ(accesses(many), 16 * 2 * n);
    EXPECT_EQ(accesses(one), 2 * n);
  }
}

} // namespace
} // namespace nestsmith
