/// Tests values whose operands are shared: the kernel and the reference compute the same result in a short
/// time.

#include "dsl/ir/tensor.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/error_analysis.h"
#include "runtime/check/reference.h"
#include "runtime/check/sim_executor.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

Schedule elementwise(DType dtype, const std::function<Expr(const Tensor &, Expr)> &value) {
  Workload w("w");
  Tensor x = w.placeholder("x", {64}, dtype);
  Tensor y = w.compute("y", {64}, {"i"}, [&](Expr i) { return value(x, i); });
  Schedule s(w.output({y}));
  auto [block, thread] = s.split(s.loop("i"), {infer, 48});
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  return s;
}

CheckResult simulated(const Schedule &s) {
  SimExecutor executor;
  return check(s, lower(s), executor);
}

std::string messages(const CheckResult &result) {
  std::string text;
  for (const std::string &message : result.messages())
    text += message + "\n";
  return text;
}

Expr squared(Expr x, int times) {
  for (int n = 0; n < times; ++n)
    x = x * x;
  return x;
}

TEST(SharedValues, SquaresOfIntegersAreRight) {
  for (DType dtype : {DType::u32, DType::i32, DType::i64})
    for (int times : {3, 14, 40}) {
      CheckResult result =
          simulated(elementwise(dtype, [&](const Tensor &x, Expr i) { return squared(x(i), times); }));
      EXPECT_TRUE(result.passed) << name(dtype) << " " << times << "\n" << messages(result);
      EXPECT_TRUE(result.exact().value_or(false)) << name(dtype) << " " << times;
    }
}

/// Doubles x up to 14 times. No value exceeds the range of f32.
TEST(SharedValues, SumsOfFloatsAreWithinTheirBound) {
  auto doubled = [](int times) {
    return elementwise(DType::f32, [=](const Tensor &x, Expr i) {
      Expr y = x(i);
      for (int n = 0; n < times; ++n)
        y = y + y;
      return y;
    });
  };
  CheckResult result = simulated(doubled(14));
  EXPECT_TRUE(result.passed) << messages(result);
  EXPECT_NE(result.find(CheckRun::random), nullptr);
}

TEST(SharedValues, RoundingsCountOnAllWays) {
  auto relative_bound = [](int times) {
    Schedule s = elementwise(DType::f32, [=](const Tensor &x, Expr i) { return squared(x(i) + 2.5F, times); });
    Inputs in = make_inputs(s.source(), CheckRun::random, 1);
    ReferenceOutput y = reference(s.source(), in.arrays, in.scalars).outputs[0];
    return y.error_at(0) < no_bound ? y.error_at(0) / y.value[0] : no_bound;
  };
  for (int times : {0, 1, 3, 5}) { // an error of an operand counts once for each use
    double ways = std::exp2(times);
    EXPECT_GE(relative_bound(times), 0.9 * (2 * ways - 1) * 0x1p-24) << times;
    EXPECT_LE(relative_bound(times), 1.1 * (2 * ways - 1) * 0x1p-24) << times;
  }
  EXPECT_EQ(relative_bound(60), no_bound);
}

TEST(SharedValues, AreRightBehindConditions) {
  auto squares = [](const Expr &x) { return squared(x + 1, 9); };
  std::function<Expr(const Tensor &, Expr)> values[] = {
      [&](const Tensor &x, Expr i) { return select(i < 20, squares(x(i)), x(i)); },
      [&](const Tensor &x, Expr i) { return select(i < 20 && squares(x(i)) < 77, squares(x(i)), x(63 - i)); },
      [&](const Tensor &x, Expr i) { return squares(x.where(i < 20, i)) + x.where(20 <= i, 63 - i); },
      [&](const Tensor &x, Expr i) {
        return select(x(i) % 2 == 0, constant(DType::u32, 3), squares(squares(x(i)) / (x(i) % 2)));
      },
      [&](const Tensor &x, Expr i) {
        return branch(i < 20, squares(x(i)), squares(x(i)) + squares(x(63 - i)));
      }};
  for (const auto &value : values) {
    CheckResult result = simulated(elementwise(DType::u32, value));
    EXPECT_TRUE(result.passed) << messages(result);
  }
}

/// Values as deep as the limit allows, and a sum of thousands of terms.
TEST(SharedValues, DeepAndWideValuesAreRight) {
  CheckResult deep = simulated(elementwise(DType::u32, [](const Tensor &x, Expr i) {
    Expr y = x(i);
    for (int n = 0; n < 499; ++n)
      y = y * x(i) + n;
    return y;
  }));
  EXPECT_TRUE(deep.passed) << messages(deep);
  CheckResult wide = simulated(elementwise(DType::u32, [](const Tensor &x, Expr i) {
    std::vector<Expr> sums;
    for (int n = 0; n < 2048; ++n)
      sums.push_back(x(i) * (n + 1));
    for (; sums.size() > 1; sums.resize(sums.size() / 2))
      for (std::size_t n = 0; n < sums.size() / 2; ++n)
        sums[n] = sums[2 * n] + sums[2 * n + 1];
    return sums.front();
  }));
  EXPECT_TRUE(wide.passed) << messages(wide);
}

} // namespace
} // namespace nestsmith
