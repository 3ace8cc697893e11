/// Tests interleaved measurements with a driver that runs on the host (fake_cuda.h).

#include "dsl/expr/error.h"
#include "runtime/cuda/measure.h"
#include "runtime/cuda/nvml.h"
#include "tests/runtime/cuda/fake_cuda.h"
#include "tests/runtime/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith::cuda {
namespace {

using test::fake_cuda;
using test::says;
using testing::ElementsAre;

class Measurement : public ::testing::Test {
protected:
  void SetUp() override {
    test::reset_fake_cuda();
    device = Device::open(test::fake_driver());
  }
  void TearDown() override {
    device.reset();
    EXPECT_EQ(fake_cuda().events + fake_cuda().graphs + fake_cuda().streams + fake_cuda().handles, 0);
  }
  /// Returns a competitor that appends its name and its copy to `log`.
  Competitor competitor(const std::string &name) {
    return {name, [this, name](std::size_t copy) {
              log += name + (log_copies ? std::to_string(copy) : "");
              fake_cuda().calls.push_back(name);
            }};
  }
  std::unique_ptr<Device> device;
  std::string log;
  bool log_copies = false;
};

TEST_F(Measurement, CompetitorsTakeTurnsAndEverySecondRoundIsReversed) {
  auto result =
      measure(*device, {competitor("a"), competitor("b")}, {.launch = LaunchMode::single, .rounds = 3});
  // Two launches warm up. Each sample then has two launches that are not measured and one that is.
  EXPECT_EQ(log, "aabb"
                 "aaabbb"
                 "bbbaaa"
                 "aaabbb");
  ASSERT_EQ(result.size(), 2U);
  EXPECT_THAT(result[0].ms, ElementsAre(1, 1, 1));
  EXPECT_EQ(result[0].host_us.size(), 3U);
  EXPECT_EQ(result[0].launches, 1);
  EXPECT_TRUE(result[0].sm_mhz.empty()) << "there is no NVML";
}

TEST_F(Measurement, TheResultsStandInTheOrderOfTheCompetitors) {
  for (int rounds : {1, 2}) {
    fake_cuda().elapsed_calls = 0;
    fake_cuda().elapsed_ms = {3, 5, 5, 3};
    auto result =
        measure(*device, {competitor("a"), competitor("b")}, {.launch = LaunchMode::single, .rounds = rounds});
    EXPECT_EQ(result[0].ms, std::vector<double>(static_cast<std::size_t>(rounds), 3));
    EXPECT_EQ(result[1].ms, std::vector<double>(static_cast<std::size_t>(rounds), 5));
  }
}

TEST_F(Measurement, ASampleHasOneLaunchBetweenItsEvents) {
  measure(*device, {competitor("a")}, {.launch = LaunchMode::single, .rounds = 1});
  const std::vector<std::string> &calls = fake_cuda().calls;
  std::vector<std::string> expected = {"a", "a", "cuEventRecord", "a", "cuEventRecord", "cuEventSynchronize"};
  EXPECT_NE(std::search(calls.begin(), calls.end(), expected.begin(), expected.end()), calls.end());
}

TEST_F(Measurement, BackToBackLaunchesFillTheSampleAndAreDivided) {
  fake_cuda().elapsed_ms = {1, 10}; // two launches take 1 ms, and the sample 10 ms
  auto result =
      measure(*device, {competitor("a")}, {.launch = LaunchMode::back_to_back, .rounds = 1, .sample_ms = 5});
  EXPECT_EQ(result[0].launches, 10);
  EXPECT_THAT(result[0].ms, ElementsAre(1));
  EXPECT_EQ(log.size(), 2U + 2U + 2U + 10U);
}

TEST_F(Measurement, TheNumberOfLaunchesHasLimits) {
  auto launches = [&](float ms) {
    fake_cuda().elapsed_calls = 0;
    fake_cuda().elapsed_ms = {ms};
    return measure(*device, {competitor("a")}, {.rounds = 1, .sample_ms = 5})[0].launches;
  };
  EXPECT_EQ(launches(1000), 1);
  EXPECT_EQ(launches(0.0001F), 200) << "more would fill the queue of the driver";
}

TEST_F(Measurement, AGraphIsCapturedOnceAndLaunchedInEachRound) {
  fake_cuda().elapsed_ms = {2, 6, 9, 12};
  auto result = measure(*device, {competitor("a")}, {.launch = LaunchMode::graph, .rounds = 3, .sample_ms = 3});
  EXPECT_EQ(result[0].launches, 3);
  EXPECT_THAT(result[0].ms, ElementsAre(2, 3, 4));
  EXPECT_EQ(fake_cuda().count("cuStreamBeginCapture_v2"), 1);
  EXPECT_EQ(fake_cuda().count("cuStreamEndCapture"), 1);
  EXPECT_EQ(fake_cuda().count("cuGraphInstantiateWithFlags"), 1);
  EXPECT_EQ(fake_cuda().count("cuGraphLaunch"), 1 + 3);
  std::vector<std::string> expected = {"cuStreamBeginCapture_v2",    "a", "a", "a", "cuStreamEndCapture",
                                       "cuGraphInstantiateWithFlags"};
  const std::vector<std::string> &calls = fake_cuda().calls;
  EXPECT_NE(std::search(calls.begin(), calls.end(), expected.begin(), expected.end()), calls.end());
}

TEST_F(Measurement, EachLaunchUsesTheCopyThatWasUsedLongestAgo) {
  log_copies = true;
  measure(*device, {competitor("a"), competitor("b")},
          {.launch = LaunchMode::single, .rounds = 1, .copies = 3});
  EXPECT_EQ(log, "a0a1b2b0"
                 "a1a2a0"
                 "b1b2b0");
}

TEST_F(Measurement, AGraphUsesEachCopyEquallyOften) {
  fake_cuda().elapsed_ms = {2, 8};
  auto result = measure(*device, {competitor("a")},
                        {.launch = LaunchMode::graph, .rounds = 1, .sample_ms = 4, .copies = 3});
  EXPECT_EQ(result[0].launches, 6) << "4 launches, and then a multiple of 3";
}

TEST_F(Measurement, CopiesForAColdL2AreTwiceAsLargeAsL2) {
  ASSERT_EQ(device->info().l2_bytes, 65536U);
  EXPECT_EQ(copies_for_cold_l2(*device, 65536), 2U);
  EXPECT_EQ(copies_for_cold_l2(*device, 1 << 20), 2U) << "a launch that fills L2 leaves a part of its operands";
  EXPECT_EQ(copies_for_cold_l2(*device, 1000), 132U);
}

TEST_F(Measurement, AFailureEndsTheCaptureAndLeaksNothing) {
  Competitor failing{"bad", [](std::size_t) {
                       if (fake_cuda().capturing)
                         throw UserError(ExitCode::no_device, "no product today");
                     }};
  MeasureOptions options{.launch = LaunchMode::graph, .rounds = 1};
  EXPECT_THROW(measure(*device, {competitor("a"), failing}, options), UserError);
  EXPECT_FALSE(fake_cuda().capturing);
  EXPECT_EQ(fake_cuda().graphs, 0);
  for (const char *call :
       {"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch",
        "cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventElapsedTime", "cuCtxSynchronize"}) {
    fake_cuda().capturing = false;
    fake_cuda().fail = {{call, 999}};
    try {
      measure(*device, {competitor("a")}, options);
      ADD_FAILURE() << call;
    } catch (const UserError &error) {
      EXPECT_EQ(error.code(), ExitCode::no_device) << call;
      EXPECT_TRUE(says(error.what(), "CUDA_ERROR_OTHER")) << call;
    }
    EXPECT_EQ(fake_cuda().events + fake_cuda().graphs, 0) << call;
  }
  fake_cuda().fail = {{"cuEventSynchronize", 700}};
  try {
    measure(*device, {competitor("a")}, options);
    FAIL();
  } catch (const UserError &error) {
    EXPECT_EQ(error.code(), ExitCode::wrong_result) << "an illegal address is the mistake of a kernel";
  }
}

TEST_F(Measurement, ReadsTheClockDuringEachSample) {
  std::string note;
  auto nvml = Nvml::open(*device, test::fake_nvml(), note);
  ASSERT_NE(nvml, nullptr) << note;
  auto result = measure(*device, {competitor("a")}, {.launch = LaunchMode::single, .rounds = 2}, nvml.get());
  EXPECT_THAT(result[0].sm_mhz, ElementsAre(1980, 1980));
  std::vector<std::string> expected = {"cuEventRecord", "nvmlDeviceGetClockInfo", "cuEventSynchronize"};
  const std::vector<std::string> &calls = fake_cuda().calls;
  EXPECT_NE(std::search(calls.begin(), calls.end(), expected.begin(), expected.end()), calls.end());
}

TEST_F(Measurement, AClockOrPowerThatNvmlDoesNotReportIsNone) {
  std::string note;
  auto nvml = Nvml::open(*device, test::fake_nvml(), note);
  ASSERT_NE(nvml, nullptr) << note;
  EXPECT_GT(watts_of(*device, competitor("a"), *nvml, 0.02).value_or(0), 0);
  fake_cuda().fail = {{"nvmlDeviceGetClockInfo", 3}, {"nvmlDeviceGetTotalEnergyConsumption", 3}};
  EXPECT_EQ(nvml->sm_mhz(), std::nullopt);
  EXPECT_EQ(watts_of(*device, competitor("a"), *nvml, 0.02), std::nullopt);
}

TEST_F(Measurement, WithoutNvmlThereIsANote) {
  auto note_if = [&](const std::map<std::string, Result> &fail, std::vector<std::string> missing) {
    fake_cuda().fail = fail;
    fake_cuda().missing = std::move(missing);
    std::string note;
    EXPECT_EQ(Nvml::open(*device, test::fake_nvml(), note), nullptr);
    EXPECT_EQ(fake_cuda().handles, 0);
    return note;
  };
  EXPECT_EQ(note_if({{"nvmlInit_v2", 9}}, {}), "SM clock and power n/a: NVML does not start (error 9)");
  EXPECT_EQ(note_if({{"cuDeviceGetPCIBusId", 1}}, {}), "SM clock and power n/a: NVML does not know the GPU");
  EXPECT_EQ(note_if({}, {"nvmlShutdown"}),
            "SM clock and power n/a: this NVML is too old; install a newer driver");
}

TEST(SpreadOf, IsTheMedianAndTheQuartiles) {
  Spread one = spread_of({4});
  EXPECT_DOUBLE_EQ(one.min, 4);
  EXPECT_DOUBLE_EQ(one.lower_quartile, 4);
  EXPECT_DOUBLE_EQ(one.max, 4);
  Spread five = spread_of({5, 1, 4, 2, 3});
  EXPECT_DOUBLE_EQ(five.min, 1);
  EXPECT_DOUBLE_EQ(five.lower_quartile, 2);
  EXPECT_DOUBLE_EQ(five.median, 3);
  EXPECT_DOUBLE_EQ(five.upper_quartile, 4);
  EXPECT_DOUBLE_EQ(five.max, 5);
  Spread even = spread_of({1, 2, 3, 4});
  EXPECT_DOUBLE_EQ(even.median, 2.5);
  EXPECT_DOUBLE_EQ(even.lower_quartile, 1.75);
}

} // namespace
} // namespace nestsmith::cuda
