/// Tests how long the main role waits for the answers of memory (runtime/model/slots.h).

#include "runtime/model/slots.h"

#include "lowering/lower.h"
#include "runtime/model/analyse.h"
#include "schedules/fast/rungs.h"
#include "schedules/tensor/rungs.h"
#include "tests/pages/facts.h"
#include "tools/results/analysed.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

const Gpu &h200() { return find_gpu("H200"); }

kernel::Kernel kernel_of(const Schedule &schedule) { return lower(schedule).kernels.at(0); }

kernel::Kernel tuned(const Shape &shape, const char *set) {
  Knobs knobs(parse_knobs(set));
  return kernel_of(tensor::tuned(shape, DType::bf16, target_of(h200()), knobs));
}

const Shape shape = {256, 512, 1024};

TEST(Slots, ThoseOfCallsInFlightAreHeldForTwoSteps) {
  const kernel::Kernel kernel = tuned(shape, "wgmma=true,roles=true,stages=5");
  const auto trips = model::slot_trips(kernel, 0, /*l2_hits=*/1);
  ASSERT_TRUE(trips);
  EXPECT_EQ(trips->slots, 5);
  EXPECT_EQ(trips->held, 2);
  EXPECT_EQ(trips->on_their_way(), 3);
  EXPECT_EQ(trips->fills, 1024 / 64);
  EXPECT_DOUBLE_EQ(trips->clocks(), trips->fills * trips->latency / 3);
}

TEST(Slots, OthersAreHeldForOneStep) {
  const auto waits = model::slot_trips(tuned(shape, "wgmma=true,roles=true,stages=5,in_flight=false"), 0, 1);
  ASSERT_TRUE(waits);
  EXPECT_EQ(waits->held, 1);
  Knobs knobs;
  const auto by_registers =
      model::slot_trips(kernel_of(fast::roles({256, 512, 100}, DType::f32, target_of(h200()), knobs)), 0, 1);
  ASSERT_TRUE(by_registers);
  EXPECT_EQ(by_registers->held, 1);
  EXPECT_EQ(by_registers->fills, 7) << "tiles of 16 terms";
}

TEST(Slots, OneAnswerIsTheLeast) {
  const model::SlotTrips few = {.fills = 4, .slots = 2, .held = 2, .latency = 100},
                         many = {.fills = 2, .slots = 8, .held = 1, .latency = 100};
  EXPECT_EQ(few.on_their_way(), 1);
  EXPECT_EQ(few.clocks(), 400);
  EXPECT_EQ(many.on_their_way(), 7);
  EXPECT_EQ(many.clocks(), 100);
}

TEST(Slots, MissesInL2AnswerLater) {
  const kernel::Kernel kernel = tuned(shape, "wgmma=true,roles=true,stages=4");
  auto latency = [&](double hits) { return model::slot_trips(kernel, 0, hits)->latency; };
  EXPECT_LT(latency(1), latency(0.9));
  EXPECT_LT(latency(0.9), latency(0.75));
  EXPECT_EQ(latency(0.75), latency(0)) << "the fills of all blocks wait for DRAM";
}

/// A thread block has one of the nests, so that the number of its fills is not known.
TEST(Slots, AKernelOfTwoNestsHasNone) {
  const kernel::Kernel kernel =
      tuned({1664, 1664, 2048}, "wgmma=true,roles=true,warps=8x1,results=16x128,even=1,persistent=false");
  ASSERT_FALSE(kernel.channels.empty());
  EXPECT_FALSE(model::fills_of_block(kernel, 0));
  EXPECT_FALSE(model::slot_trips(kernel, 0, 1));
}

/// In waves, the loop over tiles of k is inside of the loop over tiles of the result.
TEST(Slots, AreCountedInWaves) {
  const auto trips = model::slot_trips(
      tuned({64 * 132 * 2, 64, 1024}, "wgmma=true,roles=true,warps=4x1,results=16x64,persistent=true"), 0, 1);
  ASSERT_TRUE(trips);
  EXPECT_EQ(trips->held, 2);
  EXPECT_EQ(trips->fills, 2 * 1024 / 64);
}

PlanAnalysis analysed(const Shape &shape, const std::string &set) {
  Knobs knobs(parse_knobs(set));
  const Schedule schedule = tensor::tuned(shape, DType::bf16, target_of(h200()), knobs);
  const kernel::Plan plan = lower(schedule);
  std::string ignored;
  return analyse(schedule.source(), plan, h200(), cli::resources_if_possible(plan, h200(), ignored));
}

/// Few blocks of small tiles wait for memory, and more slots help.
TEST(Slots, ExplainSaysWhoWaits) {
  auto text = [&](const char *set) {
    return test::facts_of(
        analysed({128, 1024, 2048}, fmt::format("wgmma=true,roles=true,warps=4x1,results=16x128,{}", set)));
  };
  EXPECT_THAT(text("stages=4"),
              testing::HasSubstr("Who waits: the main role, for the answers of memory: more slots would help"));
  EXPECT_THAT(text("stages=8"), testing::HasSubstr("with 6 of 8 slots on their way, every 167 clocks"));
}

/// Two blocks on a multiprocessor wait at the same time.
TEST(Slots, ExplainCountsTheBlocksOfAMultiprocessor) {
  auto text = [&](std::int64_t rows, int blocks) {
    return test::facts_of(analysed(
        {rows, 4096, 2048}, fmt::format("wgmma=true,roles=true,warps=4x1,results=16x64,blocks={}", blocks)));
  };
  EXPECT_THAT(text(64, 2), testing::HasSubstr(", every 500 clocks"));
  EXPECT_THAT(text(256, 2), testing::HasSubstr(", every 217 clocks"));
}

/// The estimate needs the machine code.
TEST(Slots, FewOfThemAreALatency) {
  const char *const tile = "wgmma=true,roles=true,warps=4x1,results=16x128,stages=";
  const PlanAnalysis few = analysed({128, 1024, 2048}, fmt::format("{}2", tile)),
                     many = analysed({128, 1024, 2048}, fmt::format("{}4", tile));
  if (!few.kernels[0].compiled)
    GTEST_SKIP() << "needs NVRTC";
  EXPECT_GT(few.estimated_seconds(), 1.5 * many.estimated_seconds());
  EXPECT_GT(few.kernels[0].losses.latency, 1.5 * many.kernels[0].losses.latency);
}

} // namespace
} // namespace nestsmith
