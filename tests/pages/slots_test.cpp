/// Tests how long the main role waits for the answers of memory (runtime/model/slots.h).

#include "runtime/model/slots.h"

#include "lowering/lower.h"
#include "runtime/model/analyse.h"
#include "runtime/model/explain.h"
#include "schedules/fast/rungs.h"
#include "schedules/tensor/rungs.h"
#include "tools/pages/figures/measure.h"

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

TEST(Slots, WithTooFewOneFillIsOnItsWay) {
  EXPECT_EQ((model::SlotTrips{.fills = 4, .slots = 2, .held = 2, .latency = 100}).on_their_way(), 1);
  EXPECT_EQ((model::SlotTrips{.fills = 4, .slots = 2, .held = 2, .latency = 100}).clocks(), 400);
}

TEST(Slots, MissesInL2AnswerLater) {
  const kernel::Kernel kernel = tuned(shape, "wgmma=true,roles=true,stages=4");
  auto latency = [&](double hits) { return model::slot_trips(kernel, 0, hits)->latency; };
  EXPECT_LT(latency(1), latency(0.9));
  EXPECT_LT(latency(0.9), latency(0.75));
  EXPECT_EQ(latency(0.75), latency(0)) << "the fills of all blocks wait for DRAM";
}

TEST(Slots, AKernelWithoutRolesHasNone) {
  const kernel::Kernel kernel = tuned(shape, "wgmma=true,roles=false,stages=4");
  EXPECT_TRUE(kernel.channels.empty());
}

/// Few blocks of small tiles wait for memory, and more slots help.
TEST(Slots, ExplainSaysWhoWaits) {
  const Shape few = {128, 1024, 2048};
  auto text = [&](const char *set) {
    Knobs knobs(parse_knobs(set));
    const Schedule schedule = tensor::tuned(few, DType::bf16, target_of(h200()), knobs);
    const PlanAnalysis analysis = analyse(schedule.source(), lower(schedule), h200(), {});
    std::string facts;
    for (const Section &section : sections(analysis.kernels[0], analysis))
      for (const Fact &fact : section.facts)
        facts += fact.label + ": " + fact.value + "\n";
    return facts;
  };
  const char *const tile = "wgmma=true,roles=true,warps=4x1,results=16x128,";
  EXPECT_THAT(text(fmt::format("{}stages=4", tile).c_str()),
              testing::HasSubstr("Who waits: the main role, for the answers of memory: more slots would help"));
  EXPECT_THAT(text(fmt::format("{}stages=8", tile).c_str()),
              testing::HasSubstr("with 6 of 8 slots on their way, every 167 clocks"));
}

} // namespace
} // namespace nestsmith
