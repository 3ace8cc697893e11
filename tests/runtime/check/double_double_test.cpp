/// Tests double-double arithmetic against integers of 128 bits and against identities.
#include "runtime/check/double_double.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace nestsmith {
namespace {

__extension__ typedef __int128 Integer;

Integer integer_of_parts(DoubleDouble x) { return static_cast<Integer>(x.high) + static_cast<Integer>(x.low); }

/// An integer of up to `bits` bits, of either sign.
std::int64_t any_integer_of(int bits, std::mt19937_64 &random) {
  auto size = static_cast<std::int64_t>(random() >> (64 - bits));
  return random() & 1 ? size : -size;
}

void expect_normal(DoubleDouble x) {
  EXPECT_EQ(x.high + x.low, x.high) << "the second part is at most half a unit of the first";
}

TEST(DoubleDouble, IsExactOnIntegersOf106Bits) {
  std::mt19937_64 random(1);
  for (int n = 0; n < 20000; ++n) {
    std::int64_t a = any_integer_of(1 + n % 53, random), b = any_integer_of(1 + n % 47, random);
    auto x = static_cast<double>(a), y = static_cast<double>(b);
    DoubleDouble product = exact_product(x, y), sum = exact_sum(x, y);
    EXPECT_EQ(integer_of_parts(product), Integer{a} * b);
    EXPECT_EQ(integer_of_parts(sum), Integer{a} + b);
    expect_normal(product);
    DoubleDouble total = product + sum * DoubleDouble(3) - exact_product(x, x);
    EXPECT_EQ(integer_of_parts(total), Integer{a} * b + 3 * (Integer{a} + b) - Integer{a} * a);
    expect_normal(total);
    if (b != 0) {
      EXPECT_EQ(product / DoubleDouble(y), DoubleDouble(x)) << a << " * " << b << " / " << b;
    }
  }
}

TEST(DoubleDouble, IsMorePreciseThanDouble) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> number(0.5, 2);
  for (int n = 0; n < 20000; ++n) {
    DoubleDouble x = exact_product(number(random), number(random)),
                 y = exact_sum(number(random), 0x1p-60 * number(random));
    DoubleDouble quotient = x / y, difference = quotient * y - x;
    EXPECT_LE(std::abs(difference.high), 0x1p-100 * x.high);
    EXPECT_EQ((x + y) - y - x < DoubleDouble(0x1p-100), true);
    EXPECT_LE(std::abs(((x + y) - y - x).high), 0x1p-103 * (x.high + y.high));
  }
  DoubleDouble third = DoubleDouble(1) / DoubleDouble(3);
  EXPECT_NE(third.low, 0);
  EXPECT_LE(std::abs((third * DoubleDouble(3) - DoubleDouble(1)).high), 0x1p-104);
}

TEST(DoubleDouble, KeepsInfinitiesNanAndTheSignsOfZeros) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  DoubleDouble one = 1, infinite = infinity, third = one / DoubleDouble(3);
  for (DoubleDouble x :
       {infinite + third, infinite - third, infinite * third, infinite / third, third / DoubleDouble(0),
        DoubleDouble(1e308) * DoubleDouble(1e10), DoubleDouble(1e308) + DoubleDouble(1e308)})
    EXPECT_EQ(x, infinite);
  EXPECT_EQ(third / infinite, DoubleDouble(0));
  EXPECT_TRUE(std::isnan((infinite - infinite).high));
  EXPECT_EQ((infinite - infinite).low, 0);
  EXPECT_TRUE(std::signbit((DoubleDouble(-0.0) + DoubleDouble(-0.0)).high));
  EXPECT_FALSE(std::signbit((DoubleDouble(-0.0) + DoubleDouble(0.0)).high));
  EXPECT_TRUE(std::signbit((DoubleDouble(0.0) * DoubleDouble(-3)).high));
  EXPECT_TRUE(std::signbit((DoubleDouble(0.0) / DoubleDouble(-3)).high));
  EXPECT_TRUE(std::signbit(floor(DoubleDouble(-0.0)).high));
}

TEST(DoubleDouble, ComparesAndRoundsDown) {
  DoubleDouble below = exact_sum(3, -0x1p-70), above = exact_sum(3, 0x1p-70);
  EXPECT_LT(below, above);
  EXPECT_LT(below, DoubleDouble(3));
  EXPECT_FALSE(above < above);
  EXPECT_EQ(floor(below), DoubleDouble(2));
  EXPECT_EQ(floor(above), DoubleDouble(3));
  EXPECT_EQ(floor(DoubleDouble(-2.5)), DoubleDouble(-3));
}

} // namespace
} // namespace nestsmith
