/// Tests the error bounds of single operations: they hold, are not much larger than the errors, and are 0 if
/// nothing is rounded.
#include "runtime/check/error_analysis.h"

#include "tests/dsl/support.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <vector>

namespace nestsmith {
namespace {

using test::infinity;

/// An exact number with its bound, and its value in a kernel.
struct Pair {
  Bounded exact;
  float rounded = 0;
};

Pair draw(std::mt19937 &random) {
  std::uniform_real_distribution<double> number(-4, 4);
  double value = number(random);
  auto rounded = static_cast<float>(value * (1 + number(random) * 1e-7));
  return {{value, std::abs(value - rounded)}, rounded};
}

TEST(ErrorAnalysis, BoundsTheErrorOfEachOperation) {
  std::mt19937 random(1);
  double most = 0;
  auto expect = [&](Bounded bounded, float kernel) {
    double error = std::abs(bounded.value - kernel);
    EXPECT_LE(error, bounded.error) << bounded.value;
    most = std::max(most, error / bounded.error);
  };
  for (int n = 0; n < 10000; ++n) {
    Pair a = draw(random), b = draw(random), c = draw(random);
    expect(add(a.exact, b.exact), a.rounded + b.rounded);
    expect(subtract(a.exact, b.exact), a.rounded - b.rounded);
    expect(multiply(a.exact, b.exact), a.rounded * b.rounded);
    expect(divide(a.exact, b.exact), a.rounded / b.rounded);
    expect(minimum(a.exact, b.exact), std::fmin(a.rounded, b.rounded));
    expect(maximum(a.exact, b.exact), std::fmax(a.rounded, b.rounded));
    expect(add(multiply(a.exact, b.exact), c.exact), std::fma(a.rounded, b.rounded, c.rounded));
    expect(floor_divide(a.exact, b.exact), std::floor(a.rounded / b.rounded));
  }
  EXPECT_GT(most, 0.5);
}

TEST(ErrorAnalysis, IsExactWhereNothingRounds) {
  EXPECT_EQ(add({3, 0}, {0.5, 0}).error, 0);
  EXPECT_EQ(multiply({3, 0}, {0.5, 0}).error, 0);
  EXPECT_EQ(divide({3, 0}, {4, 0}).error, 0);
  EXPECT_GT(divide({1, 0}, {3, 0}).error, 0);
  EXPECT_GT(add({0x1p24, 0}, {1, 0}).error, 0);
  EXPECT_EQ(divide({1, 0}, {0, 0}).error, 0);
  EXPECT_EQ(add({infinity, 0}, {1, 0.1}).error, 0);
  EXPECT_EQ(multiply({infinity, 0}, {1, 0.1}).error, 0);
}

TEST(ErrorAnalysis, HasNoBoundWhereAnyResultIsPossible) {
  EXPECT_EQ(divide({1, 0}, {0.5, 0.5}).error, no_bound);
  EXPECT_EQ(divide({0, 0.1}, {0, 0}).error, no_bound);
  EXPECT_EQ(multiply({infinity, 0}, {0.1, 0.2}).error, no_bound);
  EXPECT_EQ(multiply({3e38, 0}, {2, 0}).error, no_bound);
  EXPECT_EQ(add({1, no_bound}, {2, 0}).error, no_bound);
  EXPECT_FALSE(comparable({1, 0.5}, {1.4, 0}));
  EXPECT_TRUE(comparable({1, 0.5}, {1.6, 0}));
  EXPECT_EQ(either({1, 0}, {3, 0.5}).error, 2.5);
}

/// The bound must hold for every order of summation, and for terms of any magnitude.
TEST(ErrorAnalysis, BoundsASumInAnyOrder) {
  std::mt19937 random(2);
  for (std::size_t terms : {1, 2, 7, 100}) {
    std::vector<Pair> numbers(terms);
    for (Pair &number : numbers)
      number = draw(random);
    SumOfBounded sum(1);
    for (const Pair &number : numbers)
      sum.add(number.exact);
    Bounded bounded = sum.result(static_cast<std::int64_t>(terms));
    for (int order = 0; order < 100; ++order) {
      std::shuffle(numbers.begin(), numbers.end(), random);
      float kernel = 0;
      for (const Pair &number : numbers)
        kernel += number.rounded;
      EXPECT_LE(std::abs(kernel - bounded.value), bounded.error) << terms;
    }
  }
}

TEST(ErrorAnalysis, BoundsAProductInAnyOrder) {
  auto product_of = [](const std::vector<Bounded> &factors) {
    ProductOfBounded product;
    for (Bounded factor : factors)
      product.multiply(factor);
    return product.result();
  };
  // Each order of random factors is within the bound.
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<float> factors(20);
    for (float &x : factors)
      x = std::uniform_real_distribution<float>(-2, 2)(random);
    std::vector<Bounded> bounded;
    for (float x : factors)
      bounded.push_back({x, 0});
    Bounded bound = product_of(bounded);
    ASSERT_LT(bound.error, std::abs(bound.value) * 1e-5);
    std::ranges::shuffle(factors, random);
    float sequential = 1, first = 1, second = 1;
    for (std::size_t n = 0; n < factors.size(); ++n) {
      sequential *= factors[n];
      (n % 2 ? first : second) *= factors[n];
    }
    EXPECT_LE(std::abs(sequential - bound.value), bound.error);
    EXPECT_LE(std::abs(first * second - bound.value), bound.error);
  }
  // Integers with at most 24 bits together are exact, and so is a factor of 0.
  EXPECT_EQ(product_of({{3, 0}, {-5, 0}, {1024, 0}}).error, 0);
  EXPECT_GT(product_of({{4097, 0}, {4097, 0}, {4097, 0}}).error, 0);
  EXPECT_EQ(product_of({{0, 0}, {0.1F, 0}}).error, 0);
  // Another order may overflow or may lose bits below the normal numbers, although this one does not.
  EXPECT_EQ(product_of({{1e30, 0}, {1e-30, 0}, {1e30, 0}}).error, no_bound);
  EXPECT_EQ(product_of({{1e-30, 0}, {1e30, 0}, {1e-30, 0}}).error, no_bound);
  // An error of a factor is an error of the product, and its sign may be open.
  EXPECT_GE(product_of({{2, 0.5}, {3, 0}}).error, 1.5);
  EXPECT_EQ(product_of({{0, 0.5}, {3, 0}}).error, no_bound);
  EXPECT_EQ(product_of({{1, no_bound}, {3, 0}}).error, no_bound);
  double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(product_of({{infinity, 0}, {-3, 0}}).error, 0);
  EXPECT_EQ(product_of({{infinity, 0}, {-3, 0.5}}).error, no_bound);
}

TEST(ErrorAnalysis, KnowsWhichSumsAreExact) {
  auto error_of = [](const std::vector<double> &terms) {
    SumOfBounded sum(3);
    for (double term : terms)
      sum.add({term, 0});
    return sum.result(std::ssize(terms)).error;
  };
  EXPECT_EQ(error_of({}), 0);
  EXPECT_EQ(error_of({0.1F}), 0);
  EXPECT_EQ(error_of({0.1F, 0, 0, 0}), 0);
  EXPECT_EQ(error_of({0x1p23, 0x1p23 - 1, 1}), 0);
  EXPECT_GT(error_of({0x1p24, 1}), 0);
  EXPECT_GT(error_of({0.1F, 3}), 0);
  EXPECT_EQ(last_bit(24), 3);
  EXPECT_EQ(last_bit(-0.75), -2);
}

/// Operations of doubles, compared with double-double.
TEST(ErrorAnalysis, BoundsHoldInF64) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> number(-2, 2);
  BasicSumOfBounded<DoubleDouble> sum(1);
  double total = 0, largest_ratio = 0;
  for (int n = 0; n < 20000; ++n) {
    double x = number(random), y = number(random), z = number(random);
    WideBounded a = {x, 0}, b = {y, 0}, c = {z, 0};
    auto expect = [&](WideBounded bounded, double kernel) {
      double error = std::abs((DoubleDouble(kernel) - bounded.value).high);
      EXPECT_LE(error, bounded.error) << x << " " << y << " " << z;
      if (bounded.error > 0)
        largest_ratio = std::max(largest_ratio, error / bounded.error);
    };
    expect(add(multiply(a, b), c), x * y + z);
    expect(add(multiply(a, b), c), std::fma(x, y, z));
    expect(subtract(divide(a, b), c), x / y - z);
    expect(maximum(multiply(a, b), c), std::max(x * y, z));
    expect(floor_modulo(a, multiply(c, c)), x - z * z * std::floor(x / (z * z)));
    sum.add(multiply(a, b));
    total += x * y;
  }
  EXPECT_GT(largest_ratio, 0.5);
  WideBounded all = sum.result(20000);
  EXPECT_LE(std::abs((DoubleDouble(total) - all.value).high), all.error);
  EXPECT_LE(all.error, 20000 * 40000 * 0x1p-53);
  EXPECT_EQ(add(WideBounded{3, 0}, WideBounded{0.5, 0}).error, 0);
  EXPECT_EQ(multiply(WideBounded{0x1p27 + 1, 0}, WideBounded{0x1p25 + 1, 0}).error, 0);
  EXPECT_GT(add(WideBounded{0x1p53, 0}, WideBounded{1, 0}).error, 0);
  EXPECT_EQ(add(WideBounded{1e308, 0}, WideBounded{1e308, 0}).error, no_bound) << "the reference overflows too";
  EXPECT_EQ(multiply(WideBounded{1e-200, 0}, WideBounded{1e-200, 0}).error, 0x1p-1074 * 2);
  EXPECT_EQ(divide(WideBounded{1, 0}, WideBounded{0, 0}).error, 0);
}

} // namespace
} // namespace nestsmith
