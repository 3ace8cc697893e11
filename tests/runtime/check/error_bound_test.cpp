/// Tests correct kernels whose errors are within the bound although they exceed the relative accuracy of f32,
/// and wrong kernels whose errors exceed the bound.
#include "dsl/ir/tensor.h"
#include "runtime/check/blame.h"
#include "runtime/check/check.h"
#include "tests/runtime/check/right.h"

#include <algorithm>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace nestsmith {
namespace {

using test::all_messages;
using test::map;
using testing::HasSubstr;

/// The interpreter computes in f32, as kernels do.
CheckResult check_right(const Program &program) { return Checker().check(program, as_computation(program)); }

TEST(ErrorBoundOfACheck, AllowsUnderflow) {
  for (DType to : {DType::f32, DType::f16, DType::bf16}) {
    for (float scale : {1e-20F, 1e-25F, 1e-40F}) {
      Program program = map(DType::f32, to, [&](Expr x) { return x * 1e-20F * Expr(scale) * 1e20F; });
      CheckResult result = check_right(program);
      EXPECT_TRUE(result.passed) << name(to) << scale << all_messages(result);
    }
  }
  Program quotient = map(DType::f32, DType::f32, [](Expr x) { return x / 1e30F / 1e12F; });
  EXPECT_TRUE(check_right(quotient).passed);
}

TEST(ErrorBoundOfACheck, ComparesInfinitiesOfAnExactDivisor) {
  Program program = map(DType::f32, DType::f32, [](Expr x) { return (x + 2.0F) / 0.0F; });
  EXPECT_TRUE(check_right(program).passed);
  EXPECT_TRUE(check_right(map(DType::f32, DType::f32, [](Expr x) { return (x - x) / 0.0F; })).passed);
  CheckResult wrong = Checker().check(program, [](std::vector<Array> &arrays, const std::vector<Scalar> &) {
    std::ranges::fill(arrays[1].view<float>(), -std::numeric_limits<float>::infinity());
    return Execution{};
  });
  EXPECT_THAT(all_messages(wrong), HasSubstr("floating point: Y[0]: got -inf, expected inf"));
}

TEST(ErrorBoundOfACheck, IsListedWhereItDoesNotExist) {
  auto reason = [](const std::function<Expr(Expr)> &element) {
    CheckResult result = check_right(map(DType::f32, DType::f32, element));
    EXPECT_EQ(result.outcome(), CheckOutcome::not_compared);
    EXPECT_FALSE(result.skipped.empty());
    return result.skipped.empty() ? "" : result.skipped[0].why;
  };
  const char *expected = "have no error bound, because f32 may overflow or a divisor may be 0";
  EXPECT_THAT(reason([](Expr x) { return x * 3e38F * 10.0F; }), HasSubstr(expected));
  EXPECT_THAT(reason([](Expr x) { return 1.0F / (x * 0.1F - x * 0.1F); }), HasSubstr(expected));
}

TEST(ErrorBoundOfACheck, IsMissingWhereF64MayOverflow) {
  CheckResult result = check_right(map(DType::f64, DType::f64, [](Expr x) {
    return x * constant(DType::f64, 1e308) * constant(DType::f64, 100);
  }));
  ASSERT_FALSE(result.skipped.empty());
  EXPECT_THAT(result.skipped[0].why, HasSubstr("because f64 may overflow"));
}

TEST(ErrorBoundOfACheck, IsListedOnceForSeveralRuns) {
  std::vector<SkippedRun> joined = by_reason({{"a", "7 elements have no error bound"},
                                              {"b", "not exact"},
                                              {"c", "3 elements have no error bound"},
                                              {"d", "5 elements are too large"},
                                              {"e", "not exact"}});
  ASSERT_EQ(joined.size(), 3U);
  EXPECT_EQ(joined[0].label + ": " + joined[0].why, "a; c: 3 to 7 elements have no error bound");
  EXPECT_EQ(joined[1].label + ": " + joined[1].why, "b; e: not exact");
  EXPECT_EQ(joined[2].label + ": " + joined[2].why, "d: 5 elements are too large");
}

TEST(ErrorBoundOfACheck, CountsNoRoundingOfAnInteger) {
  for (DType from : {DType::i32, DType::i64, DType::u32, DType::u64}) {
    Program program = map(from, DType::f32, [](Expr x) { return cast(DType::f32, x + 123456789); });
    EXPECT_TRUE(check_right(program).passed) << name(from);
  }
}

} // namespace
} // namespace nestsmith
