/// Tests the occupancy calculation of each GPU, and the number of waves.

#include "runtime/model/occupancy.h"

#include "dsl/expr/error.h"
#include "tests/runtime/environment.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::says;
using Limits = std::vector<OccupancyLimit>;

class OccupancyOf : public ::testing::Test {
protected:
  void SetUp() override {
    if (!occupancy_calculator())
      GTEST_SKIP() << "needs a build with cuda_occupancy.h: ./test.sh --cuda 13";
  }
};

TEST_F(OccupancyOf, TheBlocksOfDocument001) {
  const Gpu &gpu = find_gpu("RTX 3090");
  Occupancy wide = occupancy(gpu, {.threads = 32 * 32, .registers = 32});
  EXPECT_EQ(wide.blocks, 1);
  EXPECT_EQ(wide.warps * 32, 1024);
  EXPECT_EQ(wide.max_warps * 32, 1536);
  EXPECT_EQ(wide.limits, (Limits{OccupancyLimit::warps}));
  Occupancy narrow = occupancy(gpu, {.threads = 16 * 16, .registers = 32});
  EXPECT_EQ(narrow.blocks, 6);
  EXPECT_EQ(narrow.warps * 32, 1536);
  EXPECT_EQ(narrow.ratio(), 1);
}

TEST_F(OccupancyOf, SharedMemoryAsDocument001ShouldHaveComputedIt) {
  // The post divides 96 KB by the bytes of a block, which gives 12 and 24 blocks. But an SM has 100 KB, each
  // block takes 1 KB more, and the maximum is 16 blocks.
  const Gpu &gpu = find_gpu("RTX 3090");
  Occupancy eight = occupancy(gpu, {.threads = 64, .registers = 32, .static_shared = 8 << 10});
  EXPECT_EQ(eight.blocks, 11);
  EXPECT_EQ(eight.warps * 32, 704);
  EXPECT_EQ(eight.shared_per_block, 9 << 10);
  EXPECT_EQ(eight.limits, (Limits{OccupancyLimit::shared_memory}));
  Occupancy four = occupancy(gpu, {.threads = 64, .registers = 32, .static_shared = 4 << 10});
  EXPECT_EQ(four.blocks, 16);
  EXPECT_EQ(four.warps * 32, 1024);
  EXPECT_EQ(four.limits, (Limits{OccupancyLimit::blocks}));
  EXPECT_EQ(four.bound.at(OccupancyLimit::shared_memory), 20);
}

TEST_F(OccupancyOf, RegistersAreAllocatedInStepsOf256AWarp) {
  const Gpu &gpu = find_gpu("A100");
  for (auto [asked, allocated, blocks] : {std::tuple{32, 32, 8},
                                          {33, 40, 6},
                                          {40, 40, 6},
                                          {41, 48, 5},
                                          {128, 128, 2},
                                          {129, 136, 1},
                                          {255, 256, 1}}) {
    Occupancy found = occupancy(gpu, {.threads = 256, .registers = asked});
    EXPECT_EQ(found.registers_per_thread, allocated) << asked;
    EXPECT_EQ(found.blocks, blocks) << asked;
    EXPECT_EQ(found.limits, blocks == 8 ? (Limits{OccupancyLimit::warps, OccupancyLimit::registers})
                                        : (Limits{OccupancyLimit::registers}));
  }
}

TEST_F(OccupancyOf, ABlockMayOptInToAllButTheReservedSharedMemory) {
  for (auto [name, kilobytes] :
       {std::pair{"A100", 163}, {"RTX 3090", 99}, {"L4", 99}, {"H200", 227}, {"RTX 5090", 99}}) {
    const Gpu &gpu = find_gpu(name);
    std::int64_t most = static_cast<std::int64_t>(kilobytes) << 10;
    EXPECT_EQ(occupancy(gpu, {.threads = 128, .registers = 32, .dynamic_shared = most}).blocks, 1) << name;
    Occupancy more = occupancy(gpu, {.threads = 128, .registers = 32, .dynamic_shared = most + 1});
    EXPECT_EQ(more.blocks, 0) << name;
    EXPECT_EQ(more.limits, (Limits{OccupancyLimit::shared_memory}));
    // Two f32 tiles of 128 x 128 elements are 128 KB. The post about principles states 64 KB.
    EXPECT_EQ(occupancy(gpu, {.threads = 256, .registers = 32, .dynamic_shared = 128 << 10}).blocks > 0,
              kilobytes > 128);
  }
}

TEST_F(OccupancyOf, EveryGpuHoldsTheBlocksAndWarpsThatItIsListedWith) {
  for (const Gpu &gpu : gpus()) {
    Occupancy tiny = occupancy(gpu, {.threads = 1, .registers = 16});
    EXPECT_EQ(tiny.blocks, gpu.blocks_per_sm) << gpu.name;
    EXPECT_EQ(tiny.limits, (Limits{OccupancyLimit::blocks})) << gpu.name;
    EXPECT_EQ(tiny.warps, gpu.blocks_per_sm) << gpu.name;
    EXPECT_EQ(occupancy(gpu, {.threads = 128, .registers = 32}).warps, gpu.warps_per_sm()) << gpu.name;
    EXPECT_EQ(occupancy(gpu, {.threads = 1024, .registers = 65}).blocks, 0) << gpu.name;
  }
}

TEST_F(OccupancyOf, WhatAKernelDoesNotUseOrNobodyKnowsIsNoLimit) {
  Occupancy found = occupancy(find_gpu("A100"), {.threads = 256});
  EXPECT_EQ(found.blocks, 8);
  EXPECT_EQ(found.bound.count(OccupancyLimit::registers), 0u);
  EXPECT_EQ(found.registers_per_thread, 0);
  EXPECT_EQ(found.limits, (Limits{OccupancyLimit::warps}));
  EXPECT_EQ(name(OccupancyLimit::shared_memory), "shared memory");
}

TEST_F(OccupancyOf, L1KeepsWhatSharedMemoryLeaves) {
  const Gpu &gpu = find_gpu("A100");
  auto left = [&](std::int64_t shared, int registers = 32) {
    return l1_bytes_left(gpu,
                         occupancy(gpu, {.threads = 1024, .registers = registers, .static_shared = shared})) >>
           10;
  };
  EXPECT_EQ(left(0), 192 - 8);             // two blocks, 1 KB each for the system
  EXPECT_EQ(left(8 << 10), 192 - 32);      // 18 KB
  EXPECT_EQ(left(32 << 10), 192 - 100);    // 66 KB
  EXPECT_EQ(left(48 << 10), 192 - 100);    // 98 KB
  EXPECT_EQ(left(48 << 10, 64), 192 - 64); // one block: 49 KB
  const Gpu &small = find_gpu("RTX 3090");
  EXPECT_EQ(
      l1_bytes_left(small, occupancy(small, {.threads = 64, .registers = 32, .static_shared = 8 << 10})) >> 10,
      28);
}

TEST(Occupancy, WithoutACalculatorItSaysHowToGetOne) {
  if (occupancy_calculator())
    GTEST_SKIP() << "this build has " << *occupancy_calculator();
  try {
    occupancy(find_gpu("A100"), {.threads = 64});
    ADD_FAILURE() << "it has nothing to compute with";
  } catch (const UserError &error) {
    EXPECT_EQ(error.code(), ExitCode::no_device);
    EXPECT_TRUE(says(error.what(), "without cuda_occupancy.h"));
    EXPECT_TRUE(says(error.what(), "./run.sh --cuda 13"));
  }
}

/// One block per SM, as for the tiles of PERF.md.
Occupancy one_block() {
  Occupancy occupancy;
  occupancy.blocks = 1;
  return occupancy;
}

TEST(Waves, OfTheTilesOnAnH200) {
  const Gpu &gpu = find_gpu("H200");
  auto tiles = [](std::int64_t size, std::int64_t tile) { return (size / tile) * (size / tile); };
  EXPECT_NEAR(waves(gpu, one_block(), tiles(512, 128)).efficiency, 0.12, 0.005);
  EXPECT_NEAR(waves(gpu, one_block(), tiles(1024, 128)).efficiency, 0.48, 0.005);
  EXPECT_NEAR(waves(gpu, one_block(), tiles(512, 64)).efficiency, 0.48, 0.005);
  EXPECT_NEAR(waves(gpu, one_block(), tiles(1024, 64)).efficiency, 0.97, 0.005);
}

TEST(Waves, CountFullOnesAndTheRest) {
  const Gpu &gpu = find_gpu("A100"); // 108 SMs
  Occupancy two;
  two.blocks = 2;
  Waves found = waves(gpu, two, 4 * 108 + 27);
  EXPECT_EQ(found.in_wave, 216);
  EXPECT_EQ(found.full, 2);
  EXPECT_DOUBLE_EQ(found.waves, 2.125);
  EXPECT_DOUBLE_EQ(found.last_wave, 0.125);
  EXPECT_DOUBLE_EQ(found.efficiency, 2.125 / 3);
  EXPECT_EQ(found.busiest, 5);
  EXPECT_EQ(found.sms_busy, 1);

  Waves even = waves(gpu, two, 432);
  EXPECT_EQ(even.full, 2);
  EXPECT_EQ(even.last_wave, 1);
  EXPECT_EQ(even.efficiency, 1);
  EXPECT_EQ(even.busiest, 4);

  Waves few = waves(gpu, two, 27);
  EXPECT_EQ(few.full, 0);
  EXPECT_DOUBLE_EQ(few.waves, 0.125);
  EXPECT_DOUBLE_EQ(few.sms_busy, 0.25);
  EXPECT_EQ(few.busiest, 1);
}

TEST(Waves, OfNothingAreNone) {
  const Gpu &gpu = find_gpu("A100");
  for (const Waves &none : {waves(gpu, one_block(), 0), waves(gpu, Occupancy(), 10)}) {
    EXPECT_EQ(none.waves, 0);
    EXPECT_EQ(none.efficiency, 0);
    EXPECT_EQ(none.busiest, 0);
  }
}

} // namespace
} // namespace nestsmith
