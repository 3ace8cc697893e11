/// The runs of a check that compare all bits: their inputs, and what they detect.
#include "dsl/tensor.h"
#include "runtime/check/blame.h"
#include "runtime/check/check.h"
#include "tests/runtime/check/gemm_program.h"
#include "tests/runtime/check/right.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace nestsmith {
namespace {

using test::all_messages;
using test::gemm;
using testing::HasSubstr;

using Element = std::function<Expr(Expr)>;
constexpr std::int64_t length = 100;

/// Y[i] = element(X)(i), with X and Y of `length`.
Program map(DType dtype, const std::function<Expr(const Tensor &, Expr)> &element) {
  Workload w("map");
  Tensor x = w.placeholder("X", {length}, dtype);
  return w.output({w.compute("Y", {length}, {"i"}, [&](Expr i) -> Definition { return element(x, i); })});
}

CheckResult check_right(const Program &program) {
  return Checker().check(program, as_computation(program), {.infinite = true});
}

/// Checks a program with a candidate that computes each Y[i] from X[i].
template <class To, class From>
CheckResult check_map(const Program &program, const std::function<To(From)> &candidate) {
  return Checker().check(program,
                         [&](std::vector<Array> &arrays, const std::vector<Scalar> &) {
                           std::ranges::transform(arrays[0].view<From>(), arrays[1].view<To>().begin(),
                                                  candidate);
                           return Execution{};
                         },
                         {.infinite = true});
}

Program copy(DType dtype) {
  return map(dtype, [](const Tensor &x, Expr i) { return x(i); });
}

TEST(ExactRuns, CompareIntegersBeyondTheRangeOfADouble) {
  for (DType dtype : {DType::i64, DType::u64}) {
    EXPECT_TRUE(check_right(copy(dtype)).passed) << name(dtype);
    // A double cannot tell apart the two numbers.
    CheckResult wrong = check_map<std::uint64_t, std::uint64_t>(copy(dtype), [](std::uint64_t x) {
      return static_cast<double>(x ^ 1) == static_cast<double>(x) && (x >> 63) == 0 ? x ^ 1 : x;
    });
    EXPECT_FALSE(wrong.passed) << name(dtype);
    EXPECT_EQ(wrong.exact(), false);
  }
}

TEST(ExactRuns, ReadAndPrintU64AboveI64) {
  Program program = map(DType::u32, [](const Tensor &x, Expr i) {
    return cast(DType::u64, x(i) / 2) - 1 - cast(DType::u64, x(i));
  });
  EXPECT_TRUE(check_right(program).passed);
  CheckResult wrong = check_map<std::uint64_t, std::uint32_t>(program, [](std::uint32_t) { return ~0ULL; });
  EXPECT_THAT(all_messages(wrong), HasSubstr("got 18446744073709551615, expected "));
}

TEST(ExactRuns, WrapSignedIntegersAround) {
  Program next = map(DType::i32, [](const Tensor &x, Expr i) { return x(i) + 1; });
  EXPECT_TRUE(check_right(next).passed);
  auto saturated = [](std::int32_t x) { return x == std::numeric_limits<std::int32_t>::max() ? x : x + 1; };
  EXPECT_FALSE((check_map<std::int32_t, std::int32_t>(next, saturated).passed));
  for (DType dtype : {DType::i32, DType::i64, DType::u64}) {
    CheckResult product = check_right(gemm(5, 6, 7, dtype));
    EXPECT_TRUE(product.passed) << name(dtype) << all_messages(product);
  }
}

TEST(ExactRuns, GiveBooleansBothValuesAndPoisonTheirOutputs) {
  Program negation = map(DType::boolean, [](const Tensor &x, Expr i) { return !x(i); });
  EXPECT_TRUE(check_right(negation).passed);
  for (bool constant : {false, true})
    EXPECT_FALSE((check_map<bool, bool>(negation, [&](bool) { return constant; }).passed));
  CheckResult unwritten =
      Checker().check(negation, [](std::vector<Array> &, const std::vector<Scalar> &) { return Execution{}; });
  EXPECT_THAT(all_messages(unwritten), HasSubstr("Y[0] was never written"));
}

/// An index of any value would be out of bounds; so would an infinity that is converted to an integer.
TEST(ExactRuns, KeepIntegersThatIndexSmall) {
  for (DType data : {DType::u32, DType::f32}) {
    Workload w("gather");
    Tensor x = w.placeholder("X", {17}, data), p = w.placeholder("P", {length}, DType::i64);
    Tensor q = w.compute("Q", {length}, {"i"}, [&](Expr i) -> Definition { return p(i) + 8; });
    Tensor y = w.compute("Y", {length}, {"i"}, [&](Expr i) -> Definition { return x(q(i)); });
    CheckResult result = check_right(w.output({y}));
    EXPECT_TRUE(result.passed) << all_messages(result);
    EXPECT_EQ(result.runs.size(), data == DType::f32 ? 4U : 1U);
  }
}

} // namespace
} // namespace nestsmith
