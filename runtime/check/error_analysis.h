#pragma once
/// Running error analysis: a number that a kernel computes in f32, as the value of the reference and a bound on
/// the distance between the two (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 3.3). The
/// bound holds for each value separately, so that it is as tight as the cancellation and the divisors of that
/// value allow.
///
/// A bound covers all roundings that a legal kernel may choose: a product that is contracted with a sum
/// (`fma`), and the terms of a sum in any order. An operation of exact operands with an exact result does not
/// round, and has the bound 0: the kernel must return all bits.

#include "dsl/expr/math_functions.h"
#include "dsl/expr/numbers.h"

#include <cstdint>
#include <limits>
#include <span>

namespace nestsmith {

/// Unit roundoff of f32.
inline constexpr double f32_roundoff = 0x1p-24;

/// The bound of a number of which nothing is known: f32 may overflow, a divisor may be 0, or a function may
/// have no number there.
inline constexpr double no_bound = std::numeric_limits<double>::infinity();

/// A number and the bound on its error. Infinities and NaN have the bound 0 or `no_bound`.
struct Bounded {
  double value = 0;
  double error = 0;
};

/// A number that the kernel rounds to f32: `error` is the bound before the rounding.
Bounded rounded_to_f32(double value, double error);

Bounded add(Bounded a, Bounded b);
Bounded subtract(Bounded a, Bounded b);
Bounded multiply(Bounded a, Bounded b);
Bounded divide(Bounded a, Bounded b); ///< no bound if the interval of the divisor contains 0
Bounded minimum(Bounded a, Bounded b);
Bounded maximum(Bounded a, Bounded b);
Bounded floor_divide(Bounded a, Bounded b);
Bounded floor_modulo(Bounded a, Bounded b);
/// The result of a function. No bound if finite operands in their intervals may give a result that is no finite
/// number, such as log(0).
Bounded apply_function(const MathFunction &function, std::span<const Bounded> operands);
/// `chosen` if it is not certain that the kernel does not choose `other`.
Bounded either(Bounded chosen, Bounded other);

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

/// Whether the interval of a number does not contain another number, so that each comparison has one result.
bool comparable(Bounded a, Bounded b);

/// The bound of a sum in any order, of which each addition rounds `scale` times (Intrinsic::rounding_scale).
class SumOfBounded {
public:
  explicit SumOfBounded(std::int64_t scale) : scale_(scale) {}
  void add(Bounded term);
  /// `terms` is the extent of the reduction.
  Bounded result(std::int64_t terms) const;

private:
  std::int64_t scale_;
  double value_ = 0, error_ = 0;
  double magnitude_ = 0; ///< of the finite terms, with their errors
  std::int64_t nonzero_ = 0;
  int last_bit_ = 1 << 20; ///< none
};

/// The bound of a product in any order. It has none if a product of some of the factors may overflow, or may be
/// below the normal numbers.
class ProductOfBounded {
public:
  void multiply(Bounded factor);
  Bounded result() const;

private:
  double value_ = 1;
  double magnitude_ = 1, highest_ = 1; ///< of the finite factors other than 0, without and with their errors
  double up_ = 1, down_ = 1;           ///< the products of those above and below 1
  bool known_ = true;                  ///< each factor has a bound
  bool finite_ = true;
  std::int64_t factors_ = 0;
  int bits_ = 0; ///< the most bits that a product of factors has
};

/// The exponent of the last bit of a finite number that is not 0: 3 for 24.
int last_bit(double value);
/// The largest sum of magnitudes for which all partial sums are exact, of terms with this last bit.
double largest_exact_sum(int last_bit);
/// The bound on the roundings of a sum with this magnitude, of which `nonzero` terms are not 0.
double sum_error(std::int64_t terms, std::int64_t nonzero, std::int64_t scale, double magnitude);

} // namespace nestsmith
