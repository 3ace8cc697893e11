/// Tests which source decides a comparison of two plans.

#include "runtime/model/explain.h"
#include "runtime/model/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// A plan with these times in ms; 0: not measured. Quartiles are 1 % from the median. Its kernel has a body
/// without statements, as no plan has a kernel without a body.
PlanAnalysis plan(double bound, double estimate, double measured, const std::string &conditions = "H200") {
  PlanAnalysis analysis;
  analysis.gpu = find_gpu("H200");
  KernelAnalysis &kernel = analysis.kernels.emplace_back();
  kernel.kernel.body = kernel::make_seq({});
  for (Resource resource : resources)
    kernel.bounds.push_back({resource, 1, bound * 1e-3 / (kernel.bounds.empty() ? 1 : 2)});
  kernel.estimated_seconds = estimate * 1e-3;
  if (measured > 0)
    analysis.measured = {measured * 1e-3, measured * 0.99e-3, measured * 1.01e-3, conditions};
  return analysis;
}

TEST(Verdict, ARecordOfBothDecidesBeforeTheEstimateAndTheBound) {
  // The least time halves and the estimate falls, but the GPU is slower.
  Verdict verdict = verdict_of(plan(2, 3, 4), plan(1, 2, 6));
  EXPECT_EQ(verdict.outcome, Outcome::worse);
  EXPECT_EQ(verdict.by, Source::record);
  EXPECT_DOUBLE_EQ(verdict.ratio, 1.5);
  EXPECT_EQ(verdict_by(Source::estimate, plan(2, 3, 4), plan(1, 2, 6))->outcome, Outcome::better);
  EXPECT_EQ(verdict_by(Source::bound, plan(2, 3, 4), plan(1, 2, 6))->outcome, Outcome::better);
}

TEST(Verdict, WithoutARecordOfBothTheEstimateDecides) {
  for (const auto &[before, after] : {std::pair(plan(2, 3, 4), plan(1, 5, 0)),
                                      {plan(2, 3, 0), plan(1, 5, 1)},
                                      {plan(2, 3, 4), plan(1, 5, 1, "H200 with another driver")}}) {
    EXPECT_EQ(verdict_by(Source::record, before, after), std::nullopt);
    EXPECT_EQ(verdict_of(before, after).by, Source::estimate);
    EXPECT_EQ(verdict_of(before, after).outcome, Outcome::worse);
  }
}

TEST(Verdict, WithoutCompiledCodeTheBoundDecides) {
  // Then the estimate is the least time.
  Verdict verdict = verdict_of(plan(2, 2, 0), plan(1, 1, 0));
  EXPECT_EQ(verdict.by, Source::bound);
  EXPECT_EQ(verdict.outcome, Outcome::better);
  EXPECT_DOUBLE_EQ(verdict.ratio, 0.5);
  EXPECT_EQ(verdict_of(plan(2, 2, 0), plan(2, 2, 0)).outcome, Outcome::same);
}

TEST(Verdict, TimesAreTheSameWithinWhatASourceResolves) {
  EXPECT_EQ(verdict_of(plan(1, 2, 100), plan(1, 2, 101.9)).outcome, Outcome::same);
  EXPECT_EQ(verdict_of(plan(1, 2, 100), plan(1, 2, 103)).outcome, Outcome::worse);
  EXPECT_EQ(verdict_of(plan(1, 2, 103), plan(1, 2, 100)).outcome, Outcome::better);
  PlanAnalysis noisy = plan(1, 2, 103);
  noisy.measured->lower_quartile = 98e-3;
  EXPECT_EQ(verdict_of(plan(1, 2, 100), noisy).outcome, Outcome::same) << "the quartiles overlap";
  EXPECT_EQ(verdict_of(plan(1, 20, 0), plan(1, 21.9, 0)).outcome, Outcome::same);
  EXPECT_EQ(verdict_of(plan(1, 20, 0), plan(1, 22.5, 0)).outcome, Outcome::worse);
}

TEST(Verdict, TheWordsSayWhatSpeaks) {
  EXPECT_THAT(
      in_words(plan(2, 3, 4), "mine", plan(1, 2, 6)),
      AllOf(StartsWith("Worse than mine: measured on NVIDIA H200, 6 ms instead of 4 ms, 1.5 times slower. "
                       "The estimate disagrees: it falls from 3 ms to 2 ms. The least time alone does "
                       "not show it: "),
            HasSubstr("The least time falls from 2 ms to 1 ms, 2 times less. "), Not(HasSubstr("Better"))));
  EXPECT_THAT(
      in_words(plan(2, 3, 6), "mine", plan(1, 2, 4)),
      AllOf(StartsWith("Better than mine: measured on NVIDIA H200, 4 ms instead of 6 ms, 1.5 times faster. "
                       "The estimate agrees: it falls from 3 ms to 2 ms. A reason: "),
            HasSubstr("The least time falls from 2 ms to 1 ms, 2 times less. ")));
  EXPECT_THAT(
      in_words(plan(2, 3, 4), "mine", plan(1, 3, 4)),
      StartsWith("No gain over mine: measured on NVIDIA H200, 4 ms instead of 4 ms, about the same. The "
                 "estimate agrees: it is about the same, 3 ms instead of 3 ms. The least time alone does "
                 "not show it: "));
  EXPECT_THAT(
      in_words(plan(2, 3, 4), "mine", plan(2, 3, 4)),
      StartsWith("No gain over mine: measured on NVIDIA H200, 4 ms instead of 4 ms, about the same. The "
                 "estimate agrees: it is about the same, 3 ms instead of 3 ms. The least time is the same, "
                 "2 ms. The counted figures are the same. The limiter is still issue slots; "));
  EXPECT_THAT(in_words(plan(2, 3, 6), "mine", plan(1, 2.9, 4)),
              HasSubstr("The estimate does not show it: it is about the same, 2.9 ms instead of 3 ms. "));
  EXPECT_THAT(
      in_words(plan(2, 3, 0), "mine", plan(1, 5, 0)),
      StartsWith("Worse than mine: the estimated time, with latency, barriers and waves, rises from 3 ms "
                 "to 5 ms. The least time alone does not show it: "));
  EXPECT_THAT(in_words(plan(2, 2, 0), "mine", plan(1, 1, 0)), StartsWith("Better than mine, because "));
}

TEST(Verdict, TheKoreanWordsSayTheSame) {
  auto ko = [](const PlanAnalysis &before, const PlanAnalysis &after) {
    return in_words(before, "mine", after, Language::ko);
  };
  EXPECT_THAT(
      ko(plan(2, 3, 4), plan(1, 2, 6)),
      StartsWith("mine보다 못함: NVIDIA H200에서 측정한 시간은 6 ms(이전 4 ms), 1.5배 느림. 추정은 측정과 "
                 "다릅니다: 추정 시간이 3 ms에서 2 ms로 줄어듭니다. 최소 시간만 보면 그렇지 않습니다. "));
  EXPECT_THAT(ko(plan(2, 3, 6), plan(1, 2, 4)),
              AllOf(StartsWith("mine보다 나음: "), HasSubstr(" 추정도 같은 방향입니다: "),
                    HasSubstr("최소 시간은 2 ms에서 1 ms로 줄어듭니다(2배 단축). ")));
  EXPECT_THAT(ko(plan(2, 3, 4), plan(1, 3, 4)),
              AllOf(StartsWith("mine보다 나아지지 않음: "), HasSubstr("거의 같음"),
                    HasSubstr("제한 요인은 그대로입니다(명령어 발행 슬롯; 다음 자원: ")));
  EXPECT_THAT(ko(plan(2, 3, 4), plan(2, 3, 4)),
              AllOf(StartsWith("mine보다 나아지지 않음: "),
                    HasSubstr("최소 시간은 같습니다(2 ms). 집계한 지표는 모두 같습니다. 제한 요인은 "
                              "그대로입니다(명령어 발행 슬롯; 다음 자원: ")));
}

} // namespace
} // namespace nestsmith
