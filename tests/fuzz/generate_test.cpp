/// Generated computations: what they contain, and random schedules of them.

#include "dsl/printer.h"
#include "dsl/specialise.h"
#include "runtime/check/blame.h"
#include "runtime/check/check.h"
#include "runtime/check/stored_array.h"
#include "tests/fuzz/campaign.h"
#include "tests/fuzz/features.h"
#include "tests/fuzz/generate.h"

#include <gtest/gtest.h>

namespace nestsmith::fuzz {
namespace {

TEST(Generated, ASeedGivesOneComputation) {
  for (std::uint64_t seed = 1; seed < 100; ++seed) {
    std::string text = print(generated(seed).program);
    EXPECT_EQ(text, print(generated(seed).program));
    EXPECT_NE(text, print(generated(seed + 1).program));
  }
}

TEST(Generated, EveryFeatureIsInSomeComputations) {
  std::vector<int> having(features().size());
  for (std::uint64_t seed = 1; seed <= 1000; ++seed)
    for (std::size_t n = 0; n < features().size(); ++n)
      having[n] += features()[n].holds(generated(seed).program);
  for (std::size_t n = 0; n < features().size(); ++n)
    EXPECT_GE(having[n], 10) << features()[n].name;
}

TEST(Generated, ATraceNamesTheComputation) {
  Case test_case = case_of_generated(7, "sm_80"), again = case_of(trace_of(test_case), "the test");
  EXPECT_EQ(print(test_case.source), print(again.source));
}

TEST(Generated, SixHundredSchedulesAreRefusedOrExact) {
  Outcome outcome = run({.first_seed = 1000000, .count = 600});
  for (const Failure &failure : outcome.failures)
    ADD_FAILURE() << report(failure);
  EXPECT_GT(outcome.tally.generated, 250U) << report(outcome.tally);
  EXPECT_GT(outcome.tally.computations, 200U) << report(outcome.tally);
  EXPECT_GT(outcome.tally.generated_exact, 120U) << report(outcome.tally);
}

TEST(Generated, SchedulesAreRightUnderEveryOracle) {
  Outcome outcome = run({.first_seed = 2000000, .count = 160, .everything = 2});
  for (const Failure &failure : outcome.failures)
    ADD_FAILURE() << report(failure);
}

/// In bounds, and with results that the check compares: nearly always bit for bit, but not if a constant is
/// beyond the integers that f32 has. The check may start threads, which the copies of a process lack, so this
/// test comes last.
TEST(Generated, ComputationsAreWhatTheCheckCanJudge) {
  std::uint64_t exact = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Generated made = generated(seed);
    std::vector<std::int64_t> sizes;
    if (made.shape.stated)
      sizes = sizes_for(made.program, made.shape, 0);
    Program source = specialise(made.program, sizes);
    CheckResult result = Checker().check(source, as_computation(source), {.infinite = true});
    EXPECT_TRUE(result.passed) << print(source) << result.messages().front();
    exact += result.find(CheckRun::integers) || result.find(CheckRun::ring) ? 1U : 0U;
  }
  EXPECT_GT(exact, 400U);
}

} // namespace
} // namespace nestsmith::fuzz
