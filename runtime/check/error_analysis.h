#pragma once
/// Running error analysis: a number that a kernel computes in f32 or f64, as the value of the reference and a
/// bound on the distance between the two (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
/// ed., 3.3). The bound holds for each value separately, so that it is as tight as the cancellation and the
/// divisors of that value allow.
///
/// A bound covers all roundings that a legal kernel may choose: a product that is contracted with a sum
/// (`fma`), and the terms of a sum in any order. An operation of exact operands with an exact result does not
/// round, and has the bound 0: the kernel must return all bits.
///
/// The reference of f32 computes in double, and that of f64 in double-double. The value of a function in f64,
/// such as exp, is computed in long double, whose error is in the bound.

#include "dsl/expr/math_functions.h"
#include "dsl/expr/numbers.h"
#include "runtime/check/double_double.h"

#include <cstdint>
#include <limits>
#include <span>

namespace nestsmith {

/// The type of the kernel's numbers, for each type of the reference's numbers.
template <class Number> struct KernelNumbers;
template <> struct KernelNumbers<double> { ///< f32
  using Type = float;
  static constexpr double roundoff = 0x1p-24; ///< unit roundoff
  /// Half of the smallest subnormal number: the largest error of a result below the normal numbers.
  static constexpr double half_a_step = 0x1p-150;
  static constexpr double least_normal = 0x1p-126;
};
template <> struct KernelNumbers<DoubleDouble> { ///< f64
  using Type = double;
  static constexpr double roundoff = 0x1p-53;
  static constexpr double half_a_step = 0x1p-1074; ///< a whole step: half of it is no double
  static constexpr double least_normal = 0x1p-1022;
};
template <class Number>
constexpr double largest_number = std::numeric_limits<typename KernelNumbers<Number>::Type>::max();

/// Unit roundoff of f32.
inline constexpr double f32_roundoff = KernelNumbers<double>::roundoff;

/// The bound of a number of which nothing is known: f32 may overflow, a divisor may be 0, or a function may
/// have no number there.
inline constexpr double no_bound = std::numeric_limits<double>::infinity();

/// A number and the bound on its error. Infinities and NaN have the bound 0 or `no_bound`. A number with the
/// bound 0 is a number of the kernel.
template <class Number> struct BasicBounded {
  Number value = 0;
  double error = 0;
};
using Bounded = BasicBounded<double>;           ///< of f32
using WideBounded = BasicBounded<DoubleDouble>; ///< of f64

// Of f32 and f64.
template <class N = double> BasicBounded<N> add(BasicBounded<N> a, BasicBounded<N> b);
template <class N = double> BasicBounded<N> subtract(BasicBounded<N> a, BasicBounded<N> b);
template <class N = double> BasicBounded<N> multiply(BasicBounded<N> a, BasicBounded<N> b);
/// No bound if the interval of the divisor contains 0.
template <class N = double> BasicBounded<N> divide(BasicBounded<N> a, BasicBounded<N> b);
template <class N = double> BasicBounded<N> minimum(BasicBounded<N> a, BasicBounded<N> b);
template <class N = double> BasicBounded<N> maximum(BasicBounded<N> a, BasicBounded<N> b);
template <class N = double> BasicBounded<N> floor_divide(BasicBounded<N> a, BasicBounded<N> b);
template <class N = double> BasicBounded<N> floor_modulo(BasicBounded<N> a, BasicBounded<N> b);
/// The result of a function. No bound if finite operands in their intervals may give a result that is no finite
/// number, such as log(0).
template <class N>
BasicBounded<N> apply_function(const MathFunction &function, std::span<const BasicBounded<N>> operands);
/// `chosen` if it is not certain that the kernel does not choose `other`.
template <class N = double> BasicBounded<N> either(BasicBounded<N> chosen, BasicBounded<N> other);
/// Whether the interval of a number does not contain another number, so that each comparison has one result.
template <class N = double> bool comparable(BasicBounded<N> a, BasicBounded<N> b);

inline Bounded apply_function(const MathFunction &function, std::span<const Bounded> operands) {
  return apply_function<double>(function, operands);
}

/// A conversion to the type T, which keeps the order of numbers.
template <class T> Bounded round_bounded(Bounded a) {
  auto round = [](double value) { return convert<double>(convert<T>(value)); };
  double value = round(a.value);
  if (a.error == 0 || !(a.error < no_bound))
    return {value, a.error};
  double above = round(a.value + a.error) - value, below = value - round(a.value - a.error);
  double error = above > below ? above : below;
  return {value, error < no_bound ? error : no_bound};
}

/// The bound of a sum in any order, of which each addition rounds `scale` times (Intrinsic::rounding_scale).
template <class N> class BasicSumOfBounded {
public:
  explicit BasicSumOfBounded(std::int64_t scale) : scale_(scale) {}
  void add(BasicBounded<N> term);
  /// `terms` is the extent of the reduction.
  BasicBounded<N> result(std::int64_t terms) const;

private:
  std::int64_t scale_;
  N value_ = 0;
  double error_ = 0;
  double magnitude_ = 0; ///< of the finite terms, with their errors
  std::int64_t nonzero_ = 0;
  int last_bit_ = 1 << 20; ///< none
};
using SumOfBounded = BasicSumOfBounded<double>;

/// The bound of a product in any order. It has none if a product of some of the factors may overflow, or may be
/// below the normal numbers.
template <class N> class BasicProductOfBounded {
public:
  void multiply(BasicBounded<N> factor);
  BasicBounded<N> result() const;

private:
  N value_ = 1;
  double magnitude_ = 1, highest_ = 1; ///< of the finite factors other than 0, without and with their errors
  double up_ = 1, down_ = 1;           ///< the products of those above and below 1
  bool known_ = true;                  ///< each factor has a bound
  bool finite_ = true;
  std::int64_t factors_ = 0;
  int bits_ = 0; ///< the most bits that a product of factors has
};
using ProductOfBounded = BasicProductOfBounded<double>;

/// The exponent of the last bit of a finite number that is not 0: 3 for 24.
int last_bit(double value);
/// The largest sum of magnitudes for which all partial sums are exact, of terms with this last bit.
template <class N = double> double largest_exact_sum(int last_bit);
/// The bound on the roundings of a sum with this magnitude, of which `nonzero` terms are not 0.
template <class N = double>
double sum_error(std::int64_t terms, std::int64_t nonzero, std::int64_t scale, double magnitude);

} // namespace nestsmith
