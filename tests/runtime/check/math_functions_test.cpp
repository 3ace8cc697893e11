/// Tests the error bounds of functions of mathematics: right kernels are within them, wrong ones are not, and
/// where there is none, the verdict is not "right".
#include "dsl/expr/math.h"
#include "dsl/expr/math_functions.h"
#include "dsl/ir/tensor.h"
#include "runtime/check/blame.h"
#include "runtime/check/check.h"
#include "runtime/check/error_analysis.h"
#include "tests/dsl/support.h"
#include "tests/runtime/check/right.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gmock/gmock.h>
#include <limits>
#include <random>

namespace nestsmith {
namespace {

using test::all_messages;
using test::infinity;
using testing::HasSubstr;

using Element = std::function<Expr(Expr)>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Y[i] = element(X[i]).
Program elements(const Element &element, std::int64_t n = 300) {
  Workload w("map");
  Tensor x = w.placeholder("X", {n});
  return w.output({w.compute("Y", {n}, {"i"}, [&](Expr i) -> Definition { return element(x(i)); })});
}

/// `made` computed in f32, checked against `wanted`.
CheckResult check_elements(const Element &wanted, const Element &made, std::int64_t n = 300) {
  return Checker().check(elements(wanted, n), as_computation(elements(made, n)));
}

double bound_of_call(const char *name, std::vector<Bounded> operands) {
  return apply_function(*find_math_function(name), operands).error;
}

/// The result of CUDA, as far from the correctly rounded one as it may be. Infinite where nothing is stated.
double worst_of(const MathFunction &function, const float *x, bool above) {
  float worst = evaluate(function, x[0], x[1], x[2]);
  if (function.own_error) {
    double own = function.own_error(x[0], x[1], function.value(x[0], x[1], x[2]));
    return above ? worst + own : worst - own;
  }
  for (int ulp = 0; ulp < function.ulps; ++ulp)
    worst = std::nextafter(worst, above ? std::numeric_limits<float>::infinity()
                                        : -std::numeric_limits<float>::infinity());
  return worst;
}

/// The results are those of operands that are as far off as their bounds allow.
TEST(BoundOfAFunction, HoldsForTheWorstResultThatIsDocumented) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> number(0.01, 4), unit(-1, 1);
  double most = 0;
  for (const MathFunction &function : math_functions())
    for (int n = 0; n < 2000; ++n) {
      std::vector<Bounded> operands;
      float got[3] = {};
      for (int k = 0; k < function.operands; ++k) {
        double value = number(random), error = n % 2 == 0 ? 0 : 1e-4 * value;
        if (error == 0)
          value = static_cast<float>(value);
        got[k] = static_cast<float>(value + 0.99 * error * unit(random));
        operands.push_back({value, error});
      }
      Bounded result = apply_function(function, operands);
      double worst = worst_of(function, got, n % 4 < 2);
      EXPECT_LE(std::abs(worst - result.value), result.error) << function.name << " of " << got[0];
      if (n % 2 == 0 && result.error > 0) {
        most = std::max(most, std::abs(worst - result.value) / result.error);
        double own = function.own_error ? function.own_error(got[0], got[1], result.value) : 0;
        EXPECT_LE(result.error,
                  1.001 * own + (2 * function.ulps + 1) * 0x1.01p-24 * std::abs(result.value) + 0x1p-140)
            << function.name << " is not much wider";
      }
    }
  EXPECT_GT(most, 0.7);
}

/// The same in f64: the C++ library in double is as far off as CUDA may be, or less.
TEST(BoundOfAFunction, HoldsInF64) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> number(0.01, 4), unit(-1, 1);
  double most = 0;
  for (const MathFunction &function : math_functions())
    for (int n = 0; n < (function.own_error ? 0 : 2000); ++n) { // CUDA has fast functions for f32 only
      std::vector<WideBounded> operands;
      double got[3] = {};
      for (int k = 0; k < function.operands; ++k) {
        double value = number(random), error = n % 2 == 0 ? 0 : 1e-13 * value;
        got[k] = value + 0.99 * error * unit(random);
        DoubleDouble wide = error == 0 ? DoubleDouble(value) : exact_sum(value, 1e-18 * unit(random));
        operands.push_back({wide, error});
      }
      WideBounded result = apply_function<DoubleDouble>(function, operands);
      double worst = evaluate(function, got[0], got[1], got[2]);
      DoubleDouble distance = DoubleDouble(worst) - result.value;
      EXPECT_LE(std::abs(distance.high), result.error) << function.name << " of " << got[0];
      if (n % 2 == 0 && result.error > 0) {
        most = std::max(most, std::abs(distance.high) / result.error);
        EXPECT_LE(result.error, (2 * function.ulps_f64 + 1.1) * 0x1p-53 * std::abs(result.value.high))
            << function.name << " is not much wider";
      }
    }
  EXPECT_GT(most, 0.3);
  const WideBounded exact = {2.25, 0}, inexact = {2, 0}, not_positive = {0.5, 0.6};
  EXPECT_EQ(apply_function<DoubleDouble>(*find_math_function("sqrt"), std::span(&exact, 1)).error, 0);
  EXPECT_GT(apply_function<DoubleDouble>(*find_math_function("sqrt"), std::span(&inexact, 1)).error, 0);
  EXPECT_EQ(apply_function<DoubleDouble>(*find_math_function("log"), std::span(&not_positive, 1)).error,
            no_bound);
}

TEST(BoundOfAFunction, IsZeroWhereNothingRounds) {
  EXPECT_EQ(bound_of_call("abs", {{-1.5, 0}}), 0);
  EXPECT_EQ(bound_of_call("floor", {{-1.5, 0}}), 0);
  EXPECT_EQ(bound_of_call("sqrt", {{2.25, 0}}), 0);
  EXPECT_EQ(bound_of_call("fma", {{3, 0}, {0.5, 0}, {1, 0}}), 0);
  EXPECT_EQ(bound_of_call("exp", {{-infinity, 0}}), 0) << "the limit";
  EXPECT_EQ(bound_of_call("tanh", {{infinity, 0}}), 0);
  EXPECT_EQ(bound_of_call("log", {{nan, 0}}), 0);
  EXPECT_GT(bound_of_call("exp", {{0, 0}}), 0) << "CUDA documents an error here too";
}

TEST(BoundOfAFunction, DoesNotExistWhereThereMayBeNoNumber) {
  EXPECT_EQ(bound_of_call("log", {{0, 0}}), no_bound);
  EXPECT_EQ(bound_of_call("log", {{1e-7, 2e-7}}), no_bound);
  EXPECT_EQ(bound_of_call("log2", {{-1, 0}}), no_bound);
  EXPECT_EQ(bound_of_call("sqrt", {{-1, 0}}), no_bound);
  EXPECT_EQ(bound_of_call("sqrt", {{0, 1e-9}}), no_bound);
  EXPECT_EQ(bound_of_call("rsqrt", {{0, 0}}), no_bound);
  EXPECT_EQ(bound_of_call("rsqrt", {{1e-7, 1e-7}}), no_bound);
  EXPECT_EQ(bound_of_call("exp", {{100, 0}}), no_bound) << "f32 overflows";
  EXPECT_EQ(bound_of_call("exp", {{88.7, 0.1}}), no_bound);
  EXPECT_EQ(bound_of_call("exp", {{1, no_bound}}), no_bound);
  EXPECT_EQ(bound_of_call("sin", {{infinity, 0}}), 0);
  EXPECT_EQ(bound_of_call("pow", {{-2, 0.1}, {0.5, 0}}), no_bound);
  EXPECT_EQ(bound_of_call("pow", {{0.1, 0.2}, {-1, 0}}), no_bound) << "the interval contains the pole";
  EXPECT_EQ(bound_of_call("pow", {{infinity, 0}, {1, 0.1}}), no_bound);
}

TEST(BoundOfAFunction, OfAPowerByAWholeNumberIsThatOfTheInterval) {
  EXPECT_NEAR(bound_of_call("pow", {{-2, 0.1}, {2, 0}}), 0.41, 1e-4);
  EXPECT_NEAR(bound_of_call("pow", {{0.1, 0.2}, {2, 0}}), 0.08, 1e-4);
  EXPECT_NEAR(bound_of_call("pow", {{-2, 0.1}, {-1, 0}}), 1 / 1.9 - 0.5, 1e-4);
  EXPECT_LT(bound_of_call("pow", {{0, 0.5}, {0, 0}}), 1e-5) << "1 for every x";
}

/// The table of the CUDA C++ Programming Guide.
TEST(BoundOfAFastFunction, IsThatOfCuda) {
  double unit = 0x1p-23, half = 0x1p-24;
  auto relative = [](const char *name, double x) {
    Bounded result = apply_function(*find_math_function(name), std::vector<Bounded>{{x, 0}});
    return result.error / std::abs(result.value);
  };
  EXPECT_NEAR(relative("fast_exp", 10) / (13 * unit + half), 1, 1e-3) << "2 + floor(11.73) units";
  EXPECT_NEAR(relative("fast_exp", -10) / (13 * unit + half), 1, 1e-3);
  EXPECT_NEAR(relative("fast_exp", 0.5) / (2 * unit + half), 1, 1e-3);
  EXPECT_NEAR(relative("fast_tanh", 0.3) / (0x1p-11 + half), 1, 1e-3);
  EXPECT_NEAR(relative("fast_log", 8) / (3 * unit + half), 1, 1e-3);
  EXPECT_NEAR(relative("fast_log2", 0.25) / (2 * unit + half), 1, 1e-3);
  EXPECT_NEAR(bound_of_call("fast_log", {{1, 0}}) / std::exp2(-21.41), 1, 1e-3)
      << "relative to 1, not to log(1)";
  EXPECT_NEAR(bound_of_call("fast_log2", {{1.001F, 0}}) / std::exp2(-22), 1, 1e-3);
  EXPECT_NEAR(bound_of_call("fast_sin", {{0, 0}}) / std::exp2(-21.41), 1, 1e-3);
  EXPECT_NEAR(bound_of_call("fast_cos", {{1.5707964F, 0}}) / std::exp2(-21.19), 1, 1e-3);
  EXPECT_NEAR(bound_of_call("fast_divide", {{1, 0}, {3, 0}}) * 3 / (2 * unit + half), 1, 1e-3);
  EXPECT_NEAR(bound_of_call("fast_pow", {{2, 0}, {10, 0}}) / 1024,
              2 * unit + half + (10 * std::exp2(-22) + 10 * half) * std::log(2), 1e-8)
      << "of exp2f(y * __log2f(x))";
  EXPECT_NEAR(bound_of_call("fast_exp", {{3, 0.01}}), std::exp(3) * (std::exp(0.01) - 1), 1e-4)
      << "the errors of operands count as for exp";
  EXPECT_NEAR(bound_of_call("fast_divide", {{1, 0}, {2, 0.5}}), 1 / 1.5 - 0.5, 1e-6);
  EXPECT_EQ(bound_of_call("fast_exp", {{-infinity, 0}}), 0);
}

TEST(BoundOfAFastFunction, DoesNotExistWhereCudaStatesNone) {
  EXPECT_LT(bound_of_call("fast_sin", {{3.14, 0}}), 1e-6);
  EXPECT_EQ(bound_of_call("fast_sin", {{3.15, 0}}), no_bound);
  EXPECT_EQ(bound_of_call("fast_cos", {{-4, 0}}), no_bound);
  EXPECT_EQ(bound_of_call("fast_sin", {{3.1, 0.1}}), no_bound) << "it may be beyond pi";
  EXPECT_LT(bound_of_call("fast_divide", {{1, 0}, {0x1p126, 0}}), 1e-6);
  EXPECT_EQ(bound_of_call("fast_divide", {{1, 0}, {0x1p127, 0}}), no_bound) << "it is 0 there";
  EXPECT_EQ(bound_of_call("fast_divide", {{infinity, 0}, {0x1p127, 0}}), no_bound) << "it is NaN there";
  EXPECT_EQ(bound_of_call("fast_divide", {{1, 0}, {0x1p-127, 0}}), no_bound);
  EXPECT_EQ(bound_of_call("fast_divide", {{1, 0}, {0.1, 0.2}}), no_bound);
  EXPECT_EQ(bound_of_call("fast_divide", {{1, 0}, {0, 0}}), no_bound);
  EXPECT_EQ(bound_of_call("fast_pow", {{-2, 0}, {2, 0}}), no_bound);
  EXPECT_EQ(bound_of_call("fast_pow", {{0, 0}, {2, 0}}), no_bound);
  EXPECT_EQ(bound_of_call("fast_log", {{0, 0}}), no_bound);
  EXPECT_EQ(bound_of_call("fast_exp", {{100, 0}}), no_bound) << "f32 overflows";
}

/// A wrong kernel is found beyond the larger bound, and not within it.
TEST(CheckOfAFastFunction, FindsAnErrorBeyondTheBound) {
  auto outcome = [](const Element &wanted, const Element &made) {
    return check_elements(wanted, made).outcome();
  };
  using E = Expr;
  auto fast = [](E x) { return fast_exp(x * 4); };
  auto off = [](float by) { return [by](E x) { return exp(x * 4) * by; }; };
  EXPECT_EQ(outcome([](E x) { return exp(x * 4); }, off(1 + 0x1p-21F)), CheckOutcome::wrong);
  EXPECT_NE(outcome(fast, off(1 + 0x1p-23F)), CheckOutcome::wrong);
  EXPECT_EQ(outcome(fast, off(1 + 0x1p-17F)), CheckOutcome::wrong);
  auto tanh_off = [](float by) { return [by](E x) { return tanh(x) * by; }; };
  EXPECT_NE(outcome([](E x) { return fast_tanh(x); }, tanh_off(1 + 0x1p-12F)), CheckOutcome::wrong);
  EXPECT_EQ(outcome([](E x) { return fast_tanh(x); }, tanh_off(1 + 0x1p-10F)), CheckOutcome::wrong);
  EXPECT_EQ(outcome([](E x) { return tanh(x); }, tanh_off(1 + 0x1p-12F)), CheckOutcome::wrong);
  EXPECT_EQ(outcome([](E x) { return fast_divide(x, x * x + 1); }, [](E x) { return x / (x * x + 1.00001F); }),
            CheckOutcome::wrong);
  CheckResult unknown = check_elements([](E x) { return fast_sin(x * 0.001F + 10); },
                                       [](E x) { return fast_sin(x * 0.001F + 10); });
  EXPECT_EQ(unknown.outcome(), CheckOutcome::not_compared) << all_messages(unknown);
}

TEST(CheckOfAFunction, PassesWhereTheKernelIsRight) {
  for (const MathFunction &function : math_functions()) {
    auto element = [&](const Expr &x) {
      return call_math(function, std::vector<Expr>(static_cast<std::size_t>(function.operands), x));
    };
    for (std::int64_t n : {1, 31, 300}) {
      CheckResult result = check_elements(element, element, n);
      EXPECT_TRUE(result.passed) << function.name << " " << n << "\n" << all_messages(result);
    }
    auto computed = [&](const Expr &x) { return element(x * 0.7F + 1.3F) * 3 + x; };
    CheckResult result = check_elements(computed, computed);
    EXPECT_TRUE(result.passed) << function.name << "\n" << all_messages(result);
  }
  for (Expr (*made)(Expr) : {sigmoid, silu, gelu}) {
    CheckResult result = check_elements(made, made);
    EXPECT_TRUE(result.passed) << all_messages(result);
  }
}

TEST(CheckOfAFunction, FindsAnotherFunctionAndAnotherConstant) {
  auto wrong = [](const Element &wanted, const Element &made) {
    CheckResult result = check_elements(wanted, made);
    EXPECT_EQ(result.outcome(), CheckOutcome::wrong);
  };
  using E = Expr;
  wrong([](E x) { return exp(x); }, [](E x) { return exp2(x * 1.4427F); });
  wrong([](E x) { return log(x + 2); }, [](E x) { return log2(x + 2) * 0.6931F; });
  wrong([](E x) { return erf(x); }, [](E x) { return tanh(x * 1.128379F); });
  wrong([](E x) { return gelu(x); },
        [](E x) { return x * 0.5F * (1 + tanh(0.7978846F * (x + 0.044715F * x * x * x))); });
  wrong([](E x) { return silu(x); }, [](E x) { return x / (1.00001F + exp(-x)); });
  wrong([](E x) { return sin(x); }, [](E x) { return x - x * x * x / 6; });
  wrong([](E x) { return floor(x * 3); }, [](E x) { return cast(DType::f32, cast(DType::i32, x * 3)); });
  wrong([](E x) { return abs(x); }, [](E x) { return x; });
  wrong([](E x) { return sqrt(x); }, [](E x) { return x * rsqrt(x) * 1.00001F; });
}

TEST(CheckOfAFunction, IsNotRightWhereNoInputGivesANumber) {
  auto reason = [](const Element &element) {
    CheckResult result = check_elements(element, element);
    EXPECT_EQ(result.outcome(), CheckOutcome::not_compared) << all_messages(result);
    return result.skipped.empty() ? "" : result.skipped[0].why;
  };
  const char *expected = "or a function may have no finite value";
  EXPECT_THAT(reason([](Expr x) { return log(x - x); }), HasSubstr(expected));
  EXPECT_THAT(reason([](Expr x) { return sqrt(-1 - x * x); }), HasSubstr(expected));
  EXPECT_THAT(reason([](Expr x) { return rsqrt(x * 0.1F - x * 0.1F); }), HasSubstr(expected));
  EXPECT_THAT(reason([](Expr x) { return exp(x * 0.01F + 1000); }), HasSubstr(expected));
}

TEST(CheckOfAFunction, SaysWhyNothingIsExact) {
  CheckResult rounded = check_elements([](Expr x) { return exp(x); }, [](Expr x) { return exp(x); });
  ASSERT_FALSE(rounded.skipped.empty());
  EXPECT_EQ(rounded.skipped[0].why, "a function of the computation is not exact in f32");
  EXPECT_FALSE(rounded.exact().has_value());
  auto whole = [](const Expr &x) { return fma(abs(x), 3, floor(x * 0.5F)); };
  EXPECT_EQ(check_elements(whole, whole).exact(), true) << "abs, floor and fma of integers are exact";
}

} // namespace
} // namespace nestsmith
