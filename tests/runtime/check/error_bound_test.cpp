/// Right kernels that are within the error bound, although f32 and fp64 differ by more than their relative
/// accuracy, and wrong ones that are not.
#include "dsl/tensor.h"
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
using testing::HasSubstr;

/// Y[i] = element(X[i]).
Program map(DType from, DType to, const std::function<Expr(Expr)> &element) {
  Workload w("map");
  Tensor x = w.placeholder("X", {1000}, from);
  return w.output(
      {w.compute("Y", {1000}, {"i"}, [&](Expr i) -> Definition { return cast(to, element(x(i))); })});
}

/// The interpreter computes in f32, as a kernel does.
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
    EXPECT_TRUE(result.passed) << all_messages(result);
    EXPECT_FALSE(result.skipped.empty());
    return result.skipped.empty() ? "" : result.skipped[0].why;
  };
  const char *expected = "have no error bound, because f32 may overflow or a divisor may be 0";
  EXPECT_THAT(reason([](Expr x) { return x * 3e38F * 10.0F; }), HasSubstr(expected));
  EXPECT_THAT(reason([](Expr x) { return 1.0F / (x * 0.1F - x * 0.1F); }), HasSubstr(expected));
}

TEST(ErrorBoundOfACheck, CountsNoRoundingOfAnInteger) {
  for (DType from : {DType::i32, DType::i64, DType::u32, DType::u64}) {
    Program program = map(from, DType::f32, [](Expr x) { return cast(DType::f32, x + 123456789); });
    EXPECT_TRUE(check_right(program).passed) << name(from);
  }
}

/// f32 and fp64 may be on different sides of an integer.
TEST(ErrorBoundOfACheck, DoesNotCompareIntegersOfRoundedNumbers) {
  Workload w("both");
  Tensor x = w.placeholder("X", {1000});
  Tensor y = w.compute("Y", {1000}, {"i"}, [&](Expr i) -> Definition { return x(i) * 3.0F; });
  Tensor z = w.compute("Z", {1000}, {"i"}, [&](Expr i) -> Definition { return cast(DType::i32, y(i) * 7.0F); });
  CheckResult result =
      Checker().check(w.output({y, z}), [](std::vector<Array> &arrays, const std::vector<Scalar> &) {
        for (std::size_t n = 0; n < 1000; ++n) {
          float tripled = arrays[0].view<float>()[n] * 3.0F;
          arrays[1].view<float>()[n] = tripled;
          // An exact number is truncated; any other may be rounded up before.
          bool exact =
              arrays[0].view<float>()[n] == static_cast<float>(static_cast<int>(arrays[0].view<float>()[n]));
          arrays[2].view<std::int32_t>()[n] = static_cast<std::int32_t>(tripled * 7.0F + (exact ? 0.0F : 1.0F));
        }
        return Execution{};
      });
  EXPECT_TRUE(result.passed) << all_messages(result);
  ASSERT_EQ(result.skipped.size(), 1U);
  EXPECT_THAT(result.skipped[0].why, HasSubstr("Z holds integers computed from rounded numbers"));
}

/// 10 * 0.7 is 7 in f32 and less in fp64.
TEST(ErrorBoundOfACheck, DoesNotCompareThemInRingModeEither) {
  Program program = map(DType::f32, DType::i32, [](Expr x) { return x * 10.0F * 0.7F; });
  CheckResult result = check_right(program);
  EXPECT_TRUE(result.passed) << all_messages(result);
  ASSERT_EQ(result.skipped.size(), 1U);
  EXPECT_EQ(result.skipped[0].label, "ring mode");
  EXPECT_THAT(result.skipped[0].why, HasSubstr("Y holds integers computed from rounded numbers"));
  EXPECT_TRUE(check_right(map(DType::f32, DType::i32, [](Expr x) { return x * 0.5F; })).skipped.empty());
}

} // namespace
} // namespace nestsmith
