#include "runtime/check/error_analysis.h"

#include <algorithm>
#include <cmath>

namespace nestsmith {

namespace {

/// The unit roundoff, and the roundings of the reference.
template <class N> constexpr double roundoff = KernelNumbers<N>::roundoff *(1 + 0x1p-20);
template <class N> constexpr double half_a_step = KernelNumbers<N>::half_a_step;

double high(double value) { return value; }
double high(DoubleDouble value) { return value.high; }
double size_of(double value) { return std::abs(value); }
double size_of(DoubleDouble value) { return std::abs(value.high); }
template <class N> bool is_finite(N value) { return std::isfinite(high(value)); }
template <class N> bool is_nan(N value) { return std::isnan(high(value)); }
using std::floor;

/// Whether the value of the reference is a number of the kernel. Below 2^-960, a double-double may have lost
/// digits.
bool is_representable(double value) { return static_cast<double>(static_cast<float>(value)) == value; }
bool is_representable(DoubleDouble value) {
  return value.low == 0 && (value.high == 0 || std::abs(value.high) > 0x1p-960);
}

/// The type in which the reference computes functions, and the bounds on its error relative to an operand and
/// to the result. For f32, the error is in `roundoff`.
template <class N> struct Functions {
  using Type = double;
  static constexpr double of_operand = 0, of_result = 0;
};
template <> struct Functions<DoubleDouble> {
  using Type = long double;
  static constexpr double of_operand = 0x1p-63, of_result = 0x1p-60;
};
double for_function(double value) { return value; }
long double for_function(DoubleDouble value) { return static_cast<long double>(value.high) + value.low; }
double of_function(double value) { return value; }
DoubleDouble of_function(long double value) {
  auto first = static_cast<double>(value);
  return {first, static_cast<double>(value - first)};
}

template <class N> bool known(BasicBounded<N> a) { return a.error < no_bound; }

/// A number that the kernel rounds: `error` is the bound before the rounding.
template <class N> BasicBounded<N> rounded_in_kernel(N value, double error) {
  if (!is_finite(value) || !(error < no_bound))
    return {value, error < no_bound ? 0 : no_bound};
  double most = size_of(value) + error;
  if (most > largest_number<N>)
    return {value, no_bound};
  if (error == 0 && is_representable(value))
    return {value, 0};
  return {value, error + most * roundoff<N> + half_a_step<N>};
}

/// `error` is the bound before the rounding. If the value is no number, operands that are infinite or NaN
/// determine it, or the reference of f64 overflows.
template <class N> BasicBounded<N> with_error(N value, double error, bool finite_operands) {
  if (!(error < no_bound))
    return {value, no_bound};
  if (!is_finite(value))
    return {value, finite_operands ? no_bound : 0};
  return rounded_in_kernel(value, error);
}
template <class N> BasicBounded<N> with_error(N value, double error, BasicBounded<N> a, BasicBounded<N> b) {
  return with_error(value, error, is_finite(a.value) && is_finite(b.value));
}

/// Whether the sign is certain, and the number is not 0.
template <class N> bool has_sign(BasicBounded<N> a) { return known(a) && size_of(a.value) > a.error; }

/// The values of a monotone function at the ends of an interval.
template <class N> BasicBounded<N> between(N value, N lowest, N highest) {
  if (lowest == value && highest == value)
    return {value, 0};
  double error = std::max(high(highest - value), high(value - lowest));
  return {value, error < no_bound ? error : no_bound};
}

/// The largest change of the result for operands of which at least one has an error; infinite or NaN if there
/// is no bound. It reads the function at the ends of the intervals.
template <class N>
double carried_error(const MathFunction &function, std::span<const BasicBounded<N>> operands,
                     typename Functions<N>::Type result) {
  using W = typename Functions<N>::Type;
  // An operand that the function reads with fewer digits than it has.
  auto read = [](BasicBounded<N> operand) {
    double lost = is_representable(operand.value) ? 0 : size_of(operand.value) * Functions<N>::of_operand;
    return BasicBounded<W>{for_function(operand.value), operand.error + lost};
  };
  BasicBounded<W> x = read(operands[0]), y = operands.size() > 1 ? read(operands[1]) : BasicBounded<W>{};
  auto value = static_cast<double>(result);
  auto change = [&](W x_sign, W y_sign) {
    return static_cast<double>(
        std::abs(function.value(x.value + x_sign * x.error, y.value + y_sign * y.error, W{0}) - result));
  };
  /// Keeps a NaN.
  auto larger = [](double a, double b) { return a > b || std::isnan(a) ? a : b; };
  switch (function.error) {
  case ErrorRule::monotone:
    return larger(change(1, 0), change(-1, 0));
  case ErrorRule::slope_one:
    return x.error;
  case ErrorRule::product_sum:
    return static_cast<double>(std::abs(x.value)) * y.error + static_cast<double>(std::abs(y.value)) * x.error +
           x.error * y.error + operands[2].error;
  case ErrorRule::quotient: {
    double least = static_cast<double>(std::abs(y.value)) - y.error;
    return least > 0 ? (x.error + static_cast<double>(std::abs(value)) * y.error) / least : no_bound;
  }
  case ErrorRule::power:
    break;
  }
  if (y.error == 0 && y.value == 0) // x^0 is 1
    return 0;
  double corners = larger(larger(change(1, 1), change(1, -1)), larger(change(-1, 1), change(-1, -1)));
  if (x.value - x.error > 0)
    return corners;
  if (y.error != 0 || y.value != std::floor(y.value))
    return no_bound;
  bool meets_0 = std::abs(x.value) <= x.error;
  return !meets_0 ? corners : y.value > 0 ? larger(corners, std::abs(value)) : no_bound;
}

/// The largest error that CUDA states for operands in their intervals and a result of at most this magnitude:
/// at the ends and in the middle. The places where CUDA states one are intervals.
double own_error(const MathFunction &function, std::span<const Bounded> operands, double most) {
  Bounded x = operands[0], y = operands.size() > 1 ? operands[1] : Bounded{};
  double largest = 0;
  for (double dx : {-x.error, 0.0, x.error})
    for (double dy : {-y.error, 0.0, y.error})
      largest = std::max(largest, function.own_error(x.value + dx, y.value + dy, most));
  return largest;
}

/// One of the numbers, which `choose` selects. It is monotone in both.
template <class N, class Choose> BasicBounded<N> chosen(BasicBounded<N> a, BasicBounded<N> b, Choose choose) {
  N value = choose(a.value, b.value);
  if (a.error == 0 && b.error == 0)
    return {value, 0};
  if (!known(a) || !known(b) || is_nan(a.value) || is_nan(b.value))
    return {value, no_bound};
  return between(value, choose(a.value - a.error, b.value - b.error),
                 choose(a.value + a.error, b.value + b.error));
}

} // namespace

template <class N> BasicBounded<N> add(BasicBounded<N> a, BasicBounded<N> b) {
  return with_error(a.value + b.value, a.error + b.error, a, b);
}

template <class N> BasicBounded<N> subtract(BasicBounded<N> a, BasicBounded<N> b) {
  return with_error(a.value - b.value, a.error + b.error, a, b);
}

template <class N> BasicBounded<N> multiply(BasicBounded<N> a, BasicBounded<N> b) {
  N value = a.value * b.value;
  if (!known(a) || !known(b))
    return {value, no_bound};
  bool lost = high(value) == 0 && high(a.value) != 0 && high(b.value) != 0; // the product is below f64
  if (a.error == 0 && b.error == 0 && !lost)
    return with_error(value, 0, a, b);
  if (!is_finite(a.value) || !is_finite(b.value)) { // 0 times infinity is NaN
    bool determined = is_nan(a.value) || is_nan(b.value) || (has_sign(a) && has_sign(b));
    return {value, determined ? 0 : no_bound};
  }
  double error = size_of(a.value) * b.error + size_of(b.value) * a.error + a.error * b.error;
  return with_error(value, error + half_a_step<N>, a, b); // a product of 0 has the sign of the other factor
}

template <class N> BasicBounded<N> divide(BasicBounded<N> a, BasicBounded<N> b) {
  N value = a.value / b.value;
  if (!known(a) || !known(b))
    return {value, no_bound};
  if (high(b.value) == 0 && b.error == 0)
    return {value, a.error == 0 || has_sign(a) ? 0 : no_bound};
  bool lost = high(value) == 0 && high(a.value) != 0 && is_finite(b.value); // the quotient is below f64
  if (a.error == 0 && b.error == 0 && !lost)
    return with_error(value, 0, a, b);
  if (b.error != 0 && !has_sign(b))
    return {value, no_bound};
  double error = (a.error + (b.error == 0 ? 0 : size_of(value) * b.error)) / (size_of(b.value) - b.error);
  return with_error(value, error + half_a_step<N>, a, b);
}

template <class N> BasicBounded<N> minimum(BasicBounded<N> a, BasicBounded<N> b) {
  return chosen(a, b, [](N x, N y) { return x < y ? x : y; });
}

template <class N> BasicBounded<N> maximum(BasicBounded<N> a, BasicBounded<N> b) {
  return chosen(a, b, [](N x, N y) { return x < y ? y : x; });
}

template <class N> BasicBounded<N> floor_divide(BasicBounded<N> a, BasicBounded<N> b) {
  BasicBounded<N> quotient = divide(a, b);
  N value = floor(quotient.value);
  if (!known(quotient) || quotient.error == 0)
    return {value, quotient.error};
  return between<N>(value, floor(quotient.value - quotient.error), floor(quotient.value + quotient.error));
}

template <class N> BasicBounded<N> floor_modulo(BasicBounded<N> a, BasicBounded<N> b) {
  return subtract(a, multiply(b, floor_divide(a, b)));
}

template <class N>
BasicBounded<N> apply_function(const MathFunction &function, std::span<const BasicBounded<N>> operands) {
  constexpr bool wide = std::is_same_v<N, DoubleDouble>;
  auto at = [&](std::size_t n) { return n < operands.size() ? for_function(operands[n].value) : 0; };
  auto result = function.value(at(0), at(1), at(2));
  N value = of_function(result);
  if (wide && function.error == ErrorRule::product_sum)
    value = operands[0].value * operands[1].value + operands[2].value;
  auto is_known = [](BasicBounded<N> x) { return known(x); };
  if (!std::ranges::all_of(operands, is_known))
    return {value, no_bound};
  bool exact = std::ranges::all_of(operands, [](BasicBounded<N> x) { return x.error == 0; });
  if (!std::ranges::all_of(operands, [](BasicBounded<N> x) { return is_finite(x.value); })) {
    bool stated = !function.own_error || function.operands == 1; // as of the precise function
    return {value, exact && stated ? 0 : no_bound};
  }
  double error = exact ? 0 : carried_error(function, operands, result);
  if (!is_finite(value) || !(error < no_bound))
    return {value, no_bound};
  if constexpr (!wide)
    if (function.own_error) // to the correctly rounded result
      return rounded_in_kernel(value, error + own_error(function, operands, size_of(value) + error));
  int ulps = wide ? function.ulps_f64 : function.ulps;
  if (ulps != 0 || !exact || !is_representable(value))
    error += size_of(value) * Functions<N>::of_result;
  if (ulps == 0)
    return rounded_in_kernel(value, error);
  // Half a unit for the correct rounding. A unit is at most 2 roundoffs of the result, and below the normal
  // numbers 2 half steps.
  double most = size_of(value) + error, halves = 2 * ulps + 1;
  double bound = error + halves * (most * roundoff<N> + half_a_step<N>);
  return {value, most + bound > largest_number<N> ? no_bound : bound};
}

template <class N> BasicBounded<N> either(BasicBounded<N> chosen, BasicBounded<N> other) {
  if (!known(chosen) || !known(other))
    return {chosen.value, no_bound};
  if (is_nan(chosen.value) || is_nan(other.value))
    return {chosen.value, is_nan(chosen.value) && is_nan(other.value) ? 0 : no_bound};
  return between<N>(chosen.value, std::min<N>(chosen.value - chosen.error, other.value - other.error),
                    std::max<N>(chosen.value + chosen.error, other.value + other.error));
}

template <class N> bool comparable(BasicBounded<N> a, BasicBounded<N> b) {
  if (a.error == 0 && b.error == 0)
    return true;
  // A NaN gives one result, whatever the other operand is.
  return known(a) && known(b) && !(size_of(a.value - b.value) <= a.error + b.error);
}

template <class N> void BasicSumOfBounded<N>::add(BasicBounded<N> term) {
  value_ = value_ + term.value;
  error_ += term.error;
  double size = size_of(term.value);
  if (!is_finite(term.value) || (size == 0 && term.error == 0))
    return;
  magnitude_ += size + term.error;
  ++nonzero_;
  if (size != 0)
    last_bit_ = std::min(last_bit_, last_bit(size));
}

template <class N> BasicBounded<N> BasicSumOfBounded<N>::result(std::int64_t terms) const {
  N value = value_ + N(0.0); // a sum begins at +0
  if (!(error_ < no_bound) || magnitude_ > largest_number<N>)
    return {value, no_bound};
  if (!is_finite(value))
    return {value, 0};
  if (error_ == 0 && (nonzero_ <= 1 || magnitude_ <= largest_exact_sum<N>(last_bit_)))
    return {value, 0};
  double error = error_ + sum_error<N>(terms, nonzero_, scale_, magnitude_);
  return {value, magnitude_ + error > largest_number<N> ? no_bound : error};
}

template <class N> void BasicProductOfBounded<N>::multiply(BasicBounded<N> factor) {
  value_ = value_ * factor.value;
  known_ = known_ && known(factor);
  finite_ = finite_ && is_finite(factor.value);
  ++factors_;
  double size = size_of(factor.value), most = size + factor.error;
  if (!known(factor) || !is_finite(factor.value) || (size == 0 && factor.error == 0))
    return;
  magnitude_ *= size;
  highest_ *= most;
  up_ *= std::max(most, 1.0);
  down_ *= std::clamp(size - factor.error, 0.0, 1.0);
  int exponent = 0;
  if (size > 0) {
    std::frexp(size, &exponent);
    bits_ += exponent - last_bit(size);
  }
}

template <class N> BasicBounded<N> BasicProductOfBounded<N>::result() const {
  constexpr int digits = std::numeric_limits<typename KernelNumbers<N>::Type>::digits;
  if (!known_ || !(up_ <= largest_number<N>) || down_ < KernelNumbers<N>::least_normal)
    return {value_, no_bound};
  double inputs = highest_ - magnitude_;
  if (!finite_ || high(value_) == 0) // each order gives the same, or the sign of a factor is not certain
    return {value_, inputs == 0 ? 0 : no_bound};
  if (inputs == 0 && bits_ <= digits)
    return {value_, 0};
  double roundings = static_cast<double>(factors_) * roundoff<N>;
  if (roundings >= 1)
    return {value_, no_bound};
  return {value_, inputs + roundings / (1 - roundings) * highest_};
}

int last_bit(double value) {
  int exponent = 0;
  double mantissa = std::frexp(value, &exponent);
  auto digits = static_cast<std::uint64_t>(std::ldexp(std::abs(mantissa), 53));
  return exponent - 53 + __builtin_ctzll(digits);
}

template <class N> double largest_exact_sum(int last_bit) {
  using Limits = std::numeric_limits<typename KernelNumbers<N>::Type>;
  constexpr int least_bit = Limits::min_exponent - Limits::digits; // of a subnormal number
  return last_bit < least_bit ? 0 : std::ldexp(1, last_bit + Limits::digits);
}

template <class N>
double sum_error(std::int64_t terms, std::int64_t nonzero, std::int64_t scale, double magnitude) {
  if (nonzero <= 0)
    return 0;
  // Each call of a matrix unit with a term other than 0 counts as a sum of its own.
  std::int64_t additions = scale == 1 ? nonzero - 1 : std::min(scale * (terms + 2), scale * 3 * nonzero);
  double roundings = static_cast<double>(additions) * roundoff<N>;
  if (roundings >= 1)
    return no_bound;
  // The units may flush products below the normal numbers to 0.
  double underflow =
      static_cast<double>(nonzero) * (scale == 1 ? half_a_step<N> : KernelNumbers<N>::least_normal);
  return roundings / (1 - roundings) * magnitude + underflow;
}

// NOLINTBEGIN(bugprone-macro-parentheses): N is a type
#define NESTSMITH_ERROR_ANALYSIS_OF(N)                                                                         \
  template BasicBounded<N> add(BasicBounded<N>, BasicBounded<N>);                                              \
  template BasicBounded<N> subtract(BasicBounded<N>, BasicBounded<N>);                                         \
  template BasicBounded<N> multiply(BasicBounded<N>, BasicBounded<N>);                                         \
  template BasicBounded<N> divide(BasicBounded<N>, BasicBounded<N>);                                           \
  template BasicBounded<N> minimum(BasicBounded<N>, BasicBounded<N>);                                          \
  template BasicBounded<N> maximum(BasicBounded<N>, BasicBounded<N>);                                          \
  template BasicBounded<N> floor_divide(BasicBounded<N>, BasicBounded<N>);                                     \
  template BasicBounded<N> floor_modulo(BasicBounded<N>, BasicBounded<N>);                                     \
  template BasicBounded<N> apply_function(const MathFunction &, std::span<const BasicBounded<N>>);             \
  template BasicBounded<N> either(BasicBounded<N>, BasicBounded<N>);                                           \
  template bool comparable(BasicBounded<N>, BasicBounded<N>);                                                  \
  template class BasicSumOfBounded<N>;                                                                         \
  template class BasicProductOfBounded<N>;                                                                     \
  template double largest_exact_sum<N>(int);                                                                   \
  template double sum_error<N>(std::int64_t, std::int64_t, std::int64_t, double);
// NOLINTEND(bugprone-macro-parentheses)
NESTSMITH_ERROR_ANALYSIS_OF(double)
NESTSMITH_ERROR_ANALYSIS_OF(DoubleDouble)

} // namespace nestsmith
