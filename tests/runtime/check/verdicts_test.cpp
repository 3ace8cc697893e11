/// Tests the outcome of a check: it is right only if every element of every output was compared. The result
/// names what was compared.
#include "dsl/ir/interpret.h"
#include "dsl/ir/tensor.h"
#include "lowering/lower.h"
#include "runtime/check/blame.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "tests/runtime/check/first_kernels.h"
#include "tests/runtime/check/right.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using test::all_messages;
using test::Fault;
using test::first_kernels;
using test::FirstKernel;
using test::map;
using testing::HasSubstr;

CheckResult check_as(const Program &program, const Program &kernel, const CheckOptions &options = {}) {
  return Checker().check(program, as_computation(kernel), options);
}

class FirstKernels : public testing::TestWithParam<FirstKernel> {};

TEST_P(FirstKernels, AreComparedInFull) {
  Program right = GetParam().build({});
  CheckResult result = check_as(right, right, {.infinite = true});
  EXPECT_TRUE(result.passed) << all_messages(result);
  EXPECT_EQ(result.outcome(), CheckOutcome::right);
  for (const Coverage &output : result.outputs)
    EXPECT_EQ(output.run, "floating point") << output.buffer;
}

TEST_P(FirstKernels, FailInFloatingPointIfTheyAreOffByAHundredth) {
  if (!GetParam().scales)
    return;
  for (double factor : {1.01, 0.99, -1.0})
    EXPECT_FALSE(
        check_as(GetParam().build({}), GetParam().build({.factor = factor})).find(CheckRun::random)->passed)
        << factor;
}

TEST_P(FirstKernels, FailIfATermIsLost) {
  CheckResult result = check_as(GetParam().build({}), GetParam().build({.loses_term = true}));
  EXPECT_EQ(result.outcome(), CheckOutcome::wrong);
  EXPECT_FALSE(result.find(CheckRun::random)->passed);
}

/// Each bound must be close to the errors that occur.
TEST_P(FirstKernels, HaveBoundsNearTheErrorsThatOccur) {
  Program program = GetParam().build({});
  double most = 0;
  bool exact = true;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Inputs inputs = make_inputs(program, CheckRun::random, seed);
    Reference expected = reference(program, inputs.arrays, inputs.scalars);
    std::vector<Array> arrays = inputs.arrays;
    interpret(program, arrays, inputs.scalars);
    RunResult run;
    run.passed = true;
    for (std::size_t n = 0, output = 0; n < arrays.size(); ++n)
      if (program.params[n]->role != Role::input)
        compare_output(expected.outputs[output++], inputs.arrays[n], arrays[n], run);
    EXPECT_TRUE(run.passed) << seed;
    EXPECT_EQ(run.without_bound + run.wide_bound, 0) << seed;
    most = std::max(most, run.max_error_over_bound);
    exact &= run.exact;
  }
  EXPECT_TRUE(exact || most > 1e-3) << most;
  EXPECT_LE(most, 1);
}

INSTANTIATE_TEST_SUITE_P(, FirstKernels, testing::ValuesIn(first_kernels()),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(VerdictOfACheck, IsNoneIfNothingWasCompared) {
  Program program = map(DType::f32, DType::f32, [](Expr x) { return 1.0F / (x * 0.1F - x * 0.1F); });
  CheckResult result = check_as(program, program);
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.outcome(), CheckOutcome::not_compared);
  EXPECT_EQ(name(result.outcome()), "not compared");
  EXPECT_THAT(all_messages(result), HasSubstr("Y: not compared; no run compared every element"));
  ASSERT_EQ(result.outputs.size(), 1U);
  EXPECT_EQ(result.outputs[0].compared, 0);
  EXPECT_EQ(result.outputs[0].elements, 1000);
  EXPECT_FALSE(result.skipped.empty());
}

/// A wrong output makes the check fail, even if another output is not compared. A correct output does not make
/// another one correct.
TEST(VerdictOfACheck, NamesEachOutputThatWasNotCompared) {
  Workload w("two");
  Tensor x = w.placeholder("X", {10});
  Tensor y = w.compute("Y", {10}, {"i"}, [&](Expr i) -> Definition { return x(i) * 3.0F; });
  Tensor z = w.compute("Z", {10}, {"i"}, [&](Expr i) -> Definition { return x(i) * 3e38F * 1e5F; });
  Program program = w.output({y, z});
  CheckResult result = check_as(program, program);
  EXPECT_EQ(result.outcome(), CheckOutcome::not_compared);
  EXPECT_THAT(all_messages(result), HasSubstr("Z: "));
  EXPECT_THAT(all_messages(result), testing::Not(HasSubstr("Y: ")));
  CheckResult wrong =
      Checker().check(program, [&](std::vector<Array> &arrays, const std::vector<Scalar> &scalars) {
        interpret(program, arrays, scalars);
        arrays[1].view<float>()[9] += 1;
        return Execution{};
      });
  EXPECT_EQ(wrong.outcome(), CheckOutcome::wrong);
}

/// Only the last elements have divisors that may be 0 in floating point, so only these need other inputs.
TEST(VerdictOfACheck, TriesOtherInputsForElementsWithoutABound) {
  auto quotient = [](double factor) {
    Workload w("quotient");
    Tensor x = w.placeholder("X", {2000}), z = w.placeholder("Z", {2000});
    return w.output({w.compute("Y", {2000}, {"i"}, [&](Expr i) -> Definition {
      return float_imm(factor) / (x(i) * 0.1F - z(i) * 0.1F * select(i < 1900, Expr(0.0F), x(i) * x(i)));
    })});
  };
  CheckResult right = check_as(quotient(1), quotient(1));
  EXPECT_TRUE(right.passed) << all_messages(right);
  EXPECT_FALSE(check_as(quotient(1), quotient(1.01)).passed);
}

Schedule softmax_schedule(double factor) {
  Schedule s(first_kernels()[0].build({.factor = factor}));
  return s;
}

/// The kernel is that of another softmax.
TEST(VerdictOfACheck, IsWrongForTheKernelOfAnotherSoftmax) {
  SimExecutor simulator;
  Schedule right = softmax_schedule(1);
  EXPECT_TRUE(check(right, lower(right), simulator).passed);
  for (double factor : {-17.5, 1.01})
    EXPECT_EQ(check(right, lower(softmax_schedule(factor)), simulator).outcome(), CheckOutcome::wrong);
}

TEST(VerdictOfACheck, ComparesConditionsOfExactNumbersBitForBit) {
  auto above = [](double limit) {
    return map(DType::f32, DType::i32, [=](Expr x) {
      return select(x > float_imm(limit), constant(DType::i32, 1), constant(DType::i32, 0));
    });
  };
  CheckResult right = check_as(above(0), above(0), {.infinite = true});
  EXPECT_TRUE(right.passed) << all_messages(right);
  EXPECT_TRUE(right.skipped.empty());
  EXPECT_EQ(right.runs.size(), 4U);
  ASSERT_NE(right.find(CheckRun::random), nullptr);
  EXPECT_TRUE(right.find(CheckRun::random)->exact);
  for (double limit : {-0.75, -0.25, 0.25, 0.99})
    EXPECT_FALSE(check_as(above(0), above(limit)).find(CheckRun::random)->passed) << limit;
}

/// f32 and fp64 may round to different sides of an integer or of a limit. Both results are allowed, and any
/// other is wrong.
TEST(VerdictOfACheck, AllowsBothIntegersNextToARounding) {
  auto truncated = [](float offset) {
    return map(DType::f32, DType::i32, [=](Expr x) { return cast(DType::i32, x * 3.0F * 7.0F + offset); });
  };
  CheckResult right = check_as(truncated(0), truncated(0), {.infinite = true});
  EXPECT_TRUE(right.passed) << all_messages(right);
  EXPECT_FALSE(check_as(truncated(0), truncated(1)).passed);
  Program at_seven = map(DType::f32, DType::i32, [](Expr x) { return cast(DType::i32, x * 10.0F * 0.7F); });
  EXPECT_TRUE(check_as(at_seven, at_seven).passed); // 10 * 0.7 is 7 in f32, and less than 7 in fp64
}

TEST(VerdictOfACheck, DoesNotHoldForAConditionThatRoundingsDecide) {
  Program program = map(DType::f32, DType::i32, [](Expr x) {
    return select(x * 0.1F * 3.0F > x * 0.3F, constant(DType::i32, 1), constant(DType::i32, 0));
  });
  EXPECT_EQ(check_as(program, program).outcome(), CheckOutcome::not_compared);
}

/// A run whose inputs would be out of bounds is listed as skipped, and the other runs are made.
TEST(VerdictOfACheck, ListsARunWhoseInputsWouldBeOutOfBounds) {
  Workload w("lookup");
  Tensor x = w.placeholder("X", {30}), p = w.placeholder("P", {10});
  Program program = w.output({w.compute("Y", {10}, {"i"}, [&](Expr i) -> Definition {
    return x(cast(DType::i64, cast(DType::i32, p(i))) + 8);
  })});
  CheckResult result = check_as(program, program, {.infinite = true});
  EXPECT_TRUE(result.passed) << all_messages(result);
  ASSERT_EQ(result.skipped.size(), 2U);
  EXPECT_EQ(result.skipped[0].label, "infinities, 1 of 2");
  EXPECT_THAT(result.skipped[0].why,
              HasSubstr("not possible with these inputs: the computation reads X out of"));
}

/// The runs with infinities must allow rounding, too.
TEST(VerdictOfACheck, AllowsRoundingsBesideInfinities) {
  auto both = [](const std::function<Expr(Expr, Expr, Expr)> &element, DType type = DType::f32) {
    Workload w("both");
    Tensor x = w.placeholder("X", {64}, type), z = w.placeholder("Z", {64});
    return w.output(
        {w.compute("Y", {64}, {"i"}, [&](Expr i) -> Definition { return element(i, x(i), z(i)); })});
  };
  Program masked = both([](Expr i, Expr x, Expr z) { return select(i < 40, x, Expr(-1e9F)) + z; });
  Program scaled = both([](Expr, Expr x, Expr z) { return x * 1e10F + z; });
  Program dequantised =
      both([](Expr, Expr x, Expr z) { return cast(DType::f32, x * 1000003) * z; }, DType::i32);
  Workload w("trunc_sum");
  Tensor x = w.placeholder("X", {64, 16});
  Reduce k = reduce_axis("k", 16);
  Program truncated = w.output({w.compute(
      "Y", {64}, {"i"}, [&](Expr i) { return sum(cast(DType::f32, cast(DType::i32, x(i, k))), k); })});
  for (const Program &program : {masked, scaled, dequantised, truncated}) {
    SCOPED_TRACE(program.name);
    SimExecutor simulator;
    Schedule s(program);
    CheckResult result = check(s, lower(s), simulator, {.infinite = true});
    EXPECT_TRUE(result.passed) << all_messages(result);
    EXPECT_NE(result.find(CheckRun::infinite), nullptr);
  }
  Program early = both([](Expr i, Expr x, Expr z) { return select(i < 39, x, Expr(-1e9F)) + z; });
  EXPECT_FALSE(check_as(masked, early).passed);
}

/// A product of `terms` terms. If `rounds`, its factors are rounded to `type`.
Program product(DType type, std::int64_t terms, bool rounds, DType output = DType::f32) {
  Workload w("product");
  Tensor a = w.placeholder("A", {3, terms}), b = w.placeholder("B", {terms, 3});
  Reduce k = reduce_axis("k", terms);
  auto factor = [&](const Expr &e) { return rounds ? cast(DType::f32, cast(type, e)) : e; };
  Tensor p = w.compute("P", {3, 3}, {"i", "j"},
                       [&](Expr i, Expr j) { return sum(factor(a(i, k)) * factor(b(k, j)), k); });
  return w.output({w.compute("C", {3, 3}, {"i", "j"}, [&](Expr i, Expr j) { return cast(output, p(i, j)); })});
}

TEST(VerdictOfACheck, FindsALostRoundingOfTheFactorsOfALongSum) {
  for (DType type : {DType::tf32, DType::f16, DType::bf16})
    for (std::int64_t terms : {1, 7, 512, 4096}) {
      Program right = product(type, terms, true), lost = product(type, terms, false);
      CheckResult result = check_as(right, right);
      EXPECT_TRUE(result.passed) << name(type) << terms << all_messages(result);
      ASSERT_NE(result.find(CheckRun::ties), nullptr);
      EXPECT_TRUE(result.find(CheckRun::ties)->exact);
      EXPECT_FALSE(check_as(right, lost).find(CheckRun::ties)->passed) << name(type) << terms;
    }
}

/// The kernels truncate, or round ties away from 0.
TEST(VerdictOfACheck, FindsAWrongRoundingMode) {
  for (DType type : {DType::f16, DType::bf16}) {
    Program copy = map(DType::f32, type, [](Expr x) { return x; });
    EXPECT_TRUE(check_as(copy, copy).passed);
    for (bool away : {false, true}) {
      auto kernel = [&](std::vector<Array> &arrays, const std::vector<Scalar> &) {
        int dropped = type == DType::bf16 ? 16 : 13;
        for (std::int64_t n = 0; n < arrays[0].size(); ++n) {
          auto bits = static_cast<std::uint32_t>(arrays[0].at(n).bits);
          bits = (bits + (away ? 1U << (dropped - 1) : 0)) >> dropped << dropped;
          arrays[1].set(n, Scalar::from_double(type, Scalar{DType::f32, bits}.to_double()));
        }
        return Execution{};
      };
      CheckResult result = Checker().check(copy, kernel);
      EXPECT_FALSE(result.find(CheckRun::ties)->passed) << name(type) << away;
      EXPECT_TRUE(result.find(CheckRun::integers)->passed);
    }
  }
}

/// Outputs in narrow types, and numbers that are computed from integers.
TEST(VerdictOfACheck, ComparesNarrowAndMixedTypesInFull) {
  for (DType type : {DType::f16, DType::bf16, DType::f32, DType::i32}) {
    SCOPED_TRACE(name(type));
    auto shares = [&](double factor, bool loses_term) {
      Workload w("shares");
      Tensor x = w.placeholder("x", {4, 17}, type);
      Reduce k = reduce_axis("k", 17);
      auto element = [&](const Expr &i, const Expr &j) { return cast(DType::f32, x(i, j)); };
      Tensor s = w.compute("s", {4}, {"i"}, [&](Expr i) {
        Expr square = element(i, k) * element(i, k);
        return sum(loses_term ? select(k < 16, square, Expr(0.0F)) : square, k);
      });
      return w.output({w.compute("y", {4, 17}, {"i", "j"}, [&](Expr i, Expr j) {
        return cast(type == DType::i32 ? DType::f32 : type, element(i, j) / s(i) * float_imm(factor));
      })});
    };
    Program right = shares(1, false);
    CheckResult result = check_as(right, right, {.infinite = true});
    EXPECT_TRUE(result.passed) << all_messages(result);
    EXPECT_EQ(result.outputs[0].run, "floating point");
    EXPECT_FALSE(check_as(right, shares(1.01, false)).find(CheckRun::random)->passed);
    EXPECT_FALSE(check_as(right, shares(1, true)).passed);
  }
}

TEST(VerdictOfACheck, MakesNoRunOfTiesWithoutANarrowType) {
  Program plain = map(DType::f32, DType::f32, [](Expr x) { return x; });
  EXPECT_EQ(check_as(plain, plain).find(CheckRun::ties), nullptr);
}

} // namespace
} // namespace nestsmith
