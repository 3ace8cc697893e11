/// Tests the generated computations: their features, and random schedules of them.

#include "dsl/expr/error.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/specialise.h"
#include "runtime/check/blame.h"
#include "runtime/check/check.h"
#include "runtime/check/stored_array.h"
#include "tests/fuzz/campaign.h"
#include "tests/fuzz/features.h"
#include "tests/fuzz/generate.h"
#include "tests/fuzz/user_intrinsics.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

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

/// Each stage of a `Fit` has the meaning of its intrinsic. `tensorize` must accept most of them. It refuses the
/// others because of their masks, guards or rows.
TEST(Generated, StagesFitIntrinsicsOfUsers) {
  std::map<std::string, int> refused;
  int fits = 0, accepted = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Generated made = generated(seed);
    for (const Fit &fit : made.fits) {
      Schedule s(made.program, make_target("sm_90a"));
      ++fits;
      try {
        s.tensorize(s.split(s.loops(s.block(fit.stage)).back(), {infer, fit.width}).back(), fit.intrinsic);
        ++accepted;
      } catch (const ScheduleError &error) {
        ++refused[error.requirement()];
      }
    }
  }
  EXPECT_GT(fits, 100);
  EXPECT_GT(2 * accepted, fits);
  EXPECT_GT(refused["tensorize.operands"], 0);
  EXPECT_LT(20 * refused["tensorize.meaning"], fits) << "only a mask makes another meaning";
}

/// Schedules for warps that call a user's intrinsic must be exact as often as other schedules are.
TEST(Generated, WarpsCallIntrinsicsOfUsers) {
  int calls = 0, exact = 0;
  for (std::uint64_t seed = 3000000; calls < 8; ++seed) {
    ASSERT_LT(seed, 3003000U);
    if (!is_for_warps(seed))
      continue;
    Draft made = draft(seed);
    bool own = std::ranges::any_of(made.schedule.trace(), [](const Directive &directive) {
      const auto *word = directive.op == "tensorize" ? &std::get<Word>(directive.arguments[1]) : nullptr;
      return word && is_of_user(word->text);
    });
    calls += own;
    if (own) {
      Verdict verdict = judge(made.schedule, made.setting.shape);
      EXPECT_FALSE(breaks_promise(verdict.kind)) << verdict.message;
      exact += verdict.kind == Kind::exact && verdict.call;
    }
  }
  EXPECT_GT(exact, 4);
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

/// Each generated computation must be in bounds, and the check must compare its results. Nearly all are
/// compared bit for bit, except if a constant is not a 24-bit integer. A computation whose values exceed f32 is
/// not compared at all. The check may start threads, which do not exist in child processes, so this test is the
/// last one.
TEST(Generated, ComputationsAreWhatTheCheckCanJudge) {
  std::uint64_t exact = 0, not_compared = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Generated made = generated(seed);
    std::vector<std::int64_t> sizes;
    if (made.shape.stated)
      sizes = sizes_for(made.program, made.shape, 0);
    Program source = specialise(made.program, sizes);
    if (made.huge)
      continue;
    CheckResult result = Checker().check(source, as_computation(source), {.infinite = true});
    EXPECT_NE(result.outcome(), CheckOutcome::wrong) << print(source) << result.messages().front();
    not_compared += result.outcome() == CheckOutcome::not_compared;
    exact += result.find(CheckRun::integers) || result.find(CheckRun::ring) ? 1U : 0U;
  }
  EXPECT_GT(exact, 400U);
  EXPECT_GT(not_compared, 0U);
  EXPECT_LT(not_compared, 25U);
}

} // namespace
} // namespace nestsmith::fuzz
