/// Tests measurements in a child process: points that end the process, and all others.

#include "tools/tune/tune_measure.h"

#include "tests/tools/run_binary.h"

#include <csignal>
#include <filesystem>
#include <gmock/gmock.h>
#include <unistd.h>

namespace nestsmith::cli {
namespace {

using records::Outcome;
using testing::HasSubstr;

/// Starts this program as a child process, which executes what the knob "do" of each point requests.
tune::Child start() {
  std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  return tune::Child::start(self, {self, "--gtest_filter=TuneMeasurer.ChildActs"});
}

[[noreturn]] void act(tune::Parent &parent) {
  parent.send(R"({"gpu": "GPU", "driver": "13.0", "nvrtc": "13.1", "peer": "cuBLAS 1"})");
  while (auto line = parent.receive()) {
    auto request = llvm::json::parse(*line);
    const llvm::json::Array &points = *request->getAsObject()->getArray("points");
    std::string rows;
    for (std::size_t n = 0; n < points.size(); ++n) {
      parent.send("{\"step\": \"checking point " + std::to_string(n) + "\"}");
      std::string what = points[n].getAsObject()->getString("do")->str();
      if (what == "crash")
        raise(SIGKILL);
      if (what == "hang")
        pause();
      if (what == "fault")
        parent.send(R"({"error": "an illegal address", "code": 1})");
      if (what == "fault")
        _exit(1);
      rows += std::string(rows.empty() ? "" : ", ") +
              (what == "wrong" ? R"({"outcome": "wrong", "message": "C[0] is 2"})"
                               : R"({"outcome": "measured", "median_ms": )" + what + R"(, "peer_ms": 2})");
    }
    parent.send(R"({"step": "measuring launches back to back"})");
    for (const llvm::json::Value &point : points)
      if (point.getAsObject()->getString("do") == llvm::StringRef("13") && points.size() > 1)
        raise(SIGKILL); // only if several points are measured together
    parent.send("{\"rows\": [" + rows + "]}");
  }
  _exit(0);
}

TEST(TuneMeasurer, ChildActs) {
  if (std::optional<tune::Parent> parent = tune::Parent::connect())
    act(*parent);
}

std::vector<records::Measurement> measured(const std::vector<std::string> &points) {
  TuneMeasurer measurer(start, 2);
  EXPECT_EQ(measurer.machine().gpu, "GPU");
  EXPECT_EQ(measurer.machine().peer, "cuBLAS 1");
  std::vector<KnobValues> knobs;
  for (const std::string &point : points)
    knobs.push_back({{"do", point}});
  return measurer.measure(knobs, 5);
}

TEST(TuneMeasurer, ReturnsAResultForEachPoint) {
  std::vector<records::Measurement> results = measured({"1.5", "wrong", "2"});
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[0].outcome, Outcome::measured);
  EXPECT_EQ(results[0].median_ms, 1.5);
  EXPECT_EQ(results[0].peer_ms, 2);
  EXPECT_EQ(results[1].outcome, Outcome::wrong);
  EXPECT_EQ(results[1].message, "C[0] is 2");
  EXPECT_EQ(results[2].median_ms, 2);
}

TEST(TuneMeasurer, SurvivesPointsThatEndTheChild) {
  std::vector<records::Measurement> results = measured({"1", "crash", "2", "hang", "3", "fault"});
  ASSERT_EQ(results.size(), 6U);
  for (std::size_t n : {0U, 2U, 4U})
    EXPECT_EQ(results[n].outcome, Outcome::measured);
  EXPECT_EQ(results[4].median_ms, 3);
  EXPECT_EQ(results[1].outcome, Outcome::crashed);
  EXPECT_THAT(results[1].message, HasSubstr("the process ended with signal 9 (Killed), checking point 1"));
  EXPECT_EQ(results[3].outcome, Outcome::hung);
  EXPECT_THAT(results[3].message, HasSubstr("no answer in 2 s"));
  EXPECT_EQ(results[5].outcome, Outcome::crashed);
  EXPECT_EQ(results[5].message, "an illegal address");
}

TEST(TuneMeasurer, MeasuresPointsAloneIfNoneIsKnownToBeTheCause) {
  std::vector<records::Measurement> results = measured({"1", "13", "2"});
  for (const records::Measurement &result : results)
    EXPECT_EQ(result.outcome, Outcome::measured);
  EXPECT_EQ(results[1].median_ms, 13);
}

TEST(TuneMeasurer, ReportsAChildThatDoesNotStart) {
  TuneMeasurer measurer([] { return tune::Child::start("/no/such/program", {"program"}); });
  try {
    measurer.machine();
    FAIL();
  } catch (const UserError &error) {
    EXPECT_EQ(error.code(), ExitCode::no_device);
    EXPECT_STREQ(error.what(), "the process that measures ended with exit code 127");
  }
}

} // namespace
} // namespace nestsmith::cli
