#pragma once
/// Double-double arithmetic: a number is the sum of two doubles, of which the second is at most half a unit in
/// the last place of the first, so that it has about 106 bits. The reference computes the values of f64 in it.
///
/// Sources: Dekker, "A Floating-Point Technique for Extending the Available Precision", Numerische Mathematik
/// 18 (1971); Hida, Li and Bailey, "Algorithms for Quad-Double Precision Floating Point Arithmetic", ARITH-15
/// (2001). For finite results, the relative error of + and - is at most 2^-104, that of * 2^-102, and that of /
/// 2^-100 (Joldes, Muller and Popescu, ACM TOMS 44, 2017, bound each more tightly), as long as no product of
/// two parts is below 2^-969.

#include <cmath>

namespace nestsmith {

struct DoubleDouble {
  double high = 0, low = 0;

  constexpr DoubleDouble() = default;
  constexpr DoubleDouble(double number) : high(number) {}
  /// An infinity and a NaN have no second part.
  DoubleDouble(double first, double second) : high(first), low(std::isfinite(first) ? second : 0) {}

  friend bool operator==(const DoubleDouble &, const DoubleDouble &) = default;
};

/// a + b without a rounding, for |a| >= |b| or a = 0.
inline DoubleDouble sum_of_ordered(double a, double b) {
  double sum = a + b;
  return {sum, b - (sum - a)};
}
/// a + b without a rounding.
inline DoubleDouble exact_sum(double a, double b) {
  double sum = a + b, of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}
/// a * b without a rounding, unless the second part is below the numbers of double.
inline DoubleDouble exact_product(double a, double b) {
  double product = a * b;
  return {product, std::fma(a, b, -product)};
}

inline DoubleDouble operator-(DoubleDouble a) { return {-a.high, -a.low}; }
inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  DoubleDouble high = exact_sum(a.high, b.high);
  if (a.low == 0 && b.low == 0) // keeps the sign of a zero
    return high;
  DoubleDouble low = exact_sum(a.low, b.low);
  high = sum_of_ordered(high.high, high.low + low.high);
  return sum_of_ordered(high.high, high.low + low.low);
}
inline DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + -b; }
inline DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  DoubleDouble product = exact_product(a.high, b.high);
  if (!std::isfinite(product.high) || (a.low == 0 && b.low == 0))
    return product;
  return sum_of_ordered(product.high, product.low + (a.high * b.low + a.low * b.high));
}
/// By long division, of three digits that are doubles.
inline DoubleDouble operator/(DoubleDouble a, DoubleDouble b) {
  double first = a.high / b.high;
  if (first == 0 || !std::isfinite(first))
    return first;
  DoubleDouble rest = a - b * DoubleDouble(first);
  if (rest.high == 0)
    return first;
  double second = rest.high / b.high;
  rest = rest - b * DoubleDouble(second);
  DoubleDouble quotient = sum_of_ordered(first, second);
  return quotient + DoubleDouble(rest.high / b.high);
}

/// A comparison with a NaN is false.
inline bool operator<(DoubleDouble a, DoubleDouble b) {
  return a.high < b.high || (a.high == b.high && a.low < b.low);
}

inline DoubleDouble floor(DoubleDouble a) {
  double whole = std::floor(a.high);
  return whole == a.high && a.low != 0 ? sum_of_ordered(whole, std::floor(a.low)) : whole;
}

} // namespace nestsmith
