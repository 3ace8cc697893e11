#include "runtime/check/error_analysis.h"

#include <algorithm>
#include <cmath>

namespace nestsmith {

namespace {

constexpr double largest_f32 = std::numeric_limits<float>::max();
/// Half of the smallest subnormal number: the largest error of a result below the normal numbers.
constexpr double half_a_step = 0x1p-150;
/// The unit roundoff, and the rounding of the reference to fp64.
constexpr double roundoff = f32_roundoff * (1 + 0x1p-20);

bool is_f32(double value) { return static_cast<double>(static_cast<float>(value)) == value; }

bool known(Bounded a) { return a.error < no_bound; }

/// `error` is the bound before the rounding. If the value is no number, operands that are infinite or NaN
/// determine it.
Bounded with_error(double value, double error) {
  if (!(error < no_bound))
    return {value, no_bound};
  if (!std::isfinite(value))
    return {value, 0};
  return rounded_to_f32(value, error);
}

/// Whether the sign is certain, and the number is not 0.
bool has_sign(Bounded a) { return known(a) && std::abs(a.value) > a.error; }

/// The values of a monotone function at the ends of an interval.
Bounded between(double value, double lowest, double highest) {
  if (lowest == value && highest == value)
    return {value, 0};
  double error = std::max(highest - value, value - lowest);
  return {value, error < no_bound ? error : no_bound};
}

/// The largest change of the result for operands of which at least one has an error; infinite or NaN if there
/// is no bound. It reads the function at the ends of the intervals.
double carried_error(const MathFunction &function, std::span<const Bounded> operands, double value) {
  Bounded x = operands[0], y = operands.size() > 1 ? operands[1] : Bounded{};
  auto change = [&](double x_sign, double y_sign) {
    return std::abs(function.value(x.value + x_sign * x.error, y.value + y_sign * y.error, 0) - value);
  };
  /// Keeps a NaN.
  auto larger = [](double a, double b) { return a > b || std::isnan(a) ? a : b; };
  switch (function.error) {
  case ErrorRule::monotone:
    return larger(change(1, 0), change(-1, 0));
  case ErrorRule::slope_one:
    return x.error;
  case ErrorRule::product_sum:
    return std::abs(x.value) * y.error + std::abs(y.value) * x.error + x.error * y.error + operands[2].error;
  case ErrorRule::quotient: {
    double least = std::abs(y.value) - y.error;
    return least > 0 ? (x.error + std::abs(value) * y.error) / least : no_bound;
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
template <class Choose> Bounded chosen(Bounded a, Bounded b, Choose choose) {
  double value = choose(a.value, b.value);
  if (a.error == 0 && b.error == 0)
    return {value, 0};
  if (!known(a) || !known(b) || std::isnan(a.value) || std::isnan(b.value))
    return {value, no_bound};
  return between(value, choose(a.value - a.error, b.value - b.error),
                 choose(a.value + a.error, b.value + b.error));
}

} // namespace

Bounded rounded_to_f32(double value, double error) {
  if (!std::isfinite(value) || !(error < no_bound))
    return {value, error < no_bound ? 0 : no_bound};
  double most = std::abs(value) + error;
  if (most > largest_f32)
    return {value, no_bound};
  if (error == 0 && is_f32(value))
    return {value, 0};
  return {value, error + most * roundoff + half_a_step};
}

Bounded add(Bounded a, Bounded b) { return with_error(a.value + b.value, a.error + b.error); }

Bounded subtract(Bounded a, Bounded b) { return with_error(a.value - b.value, a.error + b.error); }

Bounded multiply(Bounded a, Bounded b) {
  double value = a.value * b.value;
  if (!known(a) || !known(b))
    return {value, no_bound};
  if (a.error == 0 && b.error == 0)
    return with_error(value, 0);
  if (!std::isfinite(a.value) || !std::isfinite(b.value)) { // 0 times infinity is NaN
    bool determined = std::isnan(a.value) || std::isnan(b.value) || (has_sign(a) && has_sign(b));
    return {value, determined ? 0 : no_bound};
  }
  double error = std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error;
  return with_error(value, error + half_a_step); // a product of 0 has the sign of the other factor
}

Bounded divide(Bounded a, Bounded b) {
  double value = a.value / b.value;
  if (!known(a) || !known(b))
    return {value, no_bound};
  if (b.value == 0 && b.error == 0)
    return {value, a.error == 0 || has_sign(a) ? 0 : no_bound};
  if (a.error == 0 && b.error == 0)
    return with_error(value, 0);
  if (b.error != 0 && !has_sign(b))
    return {value, no_bound};
  double error = (a.error + (b.error == 0 ? 0 : std::abs(value) * b.error)) / (std::abs(b.value) - b.error);
  return with_error(value, error + half_a_step);
}

Bounded minimum(Bounded a, Bounded b) {
  return chosen(a, b, [](double x, double y) { return x < y ? x : y; });
}

Bounded maximum(Bounded a, Bounded b) {
  return chosen(a, b, [](double x, double y) { return x < y ? y : x; });
}

Bounded floor_divide(Bounded a, Bounded b) {
  Bounded quotient = divide(a, b);
  double value = std::floor(quotient.value);
  if (!known(quotient) || quotient.error == 0)
    return {value, quotient.error};
  return between(value, std::floor(quotient.value - quotient.error),
                 std::floor(quotient.value + quotient.error));
}

Bounded floor_modulo(Bounded a, Bounded b) { return subtract(a, multiply(b, floor_divide(a, b))); }

Bounded apply_function(const MathFunction &function, std::span<const Bounded> operands) {
  auto at = [&](std::size_t n) { return n < operands.size() ? operands[n].value : 0; };
  double value = function.value(at(0), at(1), at(2));
  if (!std::ranges::all_of(operands, known))
    return {value, no_bound};
  bool exact = std::ranges::all_of(operands, [](Bounded x) { return x.error == 0; });
  if (!std::ranges::all_of(operands, [](Bounded x) { return std::isfinite(x.value); })) {
    bool stated = !function.own_error || function.operands == 1; // as of the precise function
    return {value, exact && stated ? 0 : no_bound};
  }
  double error = exact ? 0 : carried_error(function, operands, value);
  if (!std::isfinite(value) || !(error < no_bound))
    return {value, no_bound};
  double highest = std::abs(value) + error;
  if (function.own_error) // to the correctly rounded result
    return rounded_to_f32(value, error + own_error(function, operands, highest));
  if (function.ulps == 0)
    return rounded_to_f32(value, error);
  // Half a unit for the correct rounding. A unit is at most 2 roundoffs of the result, and below the normal
  // numbers 2 half steps.
  double halves = 2 * function.ulps + 1;
  double bound = error + halves * (highest * roundoff + half_a_step);
  return {value, highest + bound > largest_f32 ? no_bound : bound};
}

Bounded either(Bounded chosen, Bounded other) {
  if (!known(chosen) || !known(other))
    return {chosen.value, no_bound};
  if (std::isnan(chosen.value) || std::isnan(other.value))
    return {chosen.value, std::isnan(chosen.value) && std::isnan(other.value) ? 0 : no_bound};
  return between(chosen.value, std::min(chosen.value - chosen.error, other.value - other.error),
                 std::max(chosen.value + chosen.error, other.value + other.error));
}

bool comparable(Bounded a, Bounded b) {
  if (a.error == 0 && b.error == 0)
    return true;
  // A NaN gives one result, whatever the other operand is.
  return known(a) && known(b) && !(std::abs(a.value - b.value) <= a.error + b.error);
}

void SumOfBounded::add(Bounded term) {
  value_ += term.value;
  error_ += term.error;
  if (!std::isfinite(term.value) || (term.value == 0 && term.error == 0))
    return;
  magnitude_ += std::abs(term.value) + term.error;
  ++nonzero_;
  if (term.value != 0)
    last_bit_ = std::min(last_bit_, last_bit(term.value));
}

Bounded SumOfBounded::result(std::int64_t terms) const {
  double value = value_ + 0.0; // a sum begins at +0
  if (!(error_ < no_bound) || magnitude_ > largest_f32)
    return {value, no_bound};
  if (!std::isfinite(value))
    return {value, 0};
  if (error_ == 0 && (nonzero_ <= 1 || magnitude_ <= largest_exact_sum(last_bit_)))
    return {value, 0};
  double error = error_ + sum_error(terms, nonzero_, scale_, magnitude_);
  return {value, magnitude_ + error > largest_f32 ? no_bound : error};
}

void ProductOfBounded::multiply(Bounded factor) {
  value_ *= factor.value;
  known_ = known_ && known(factor);
  finite_ = finite_ && std::isfinite(factor.value);
  ++factors_;
  if (!known(factor) || !std::isfinite(factor.value) || (factor.value == 0 && factor.error == 0))
    return;
  double size = std::abs(factor.value), most = size + factor.error;
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

Bounded ProductOfBounded::result() const {
  constexpr double least_normal = 0x1p-126;
  if (!known_ || !(up_ <= largest_f32) || down_ < least_normal)
    return {value_, no_bound};
  double inputs = highest_ - magnitude_;
  if (!finite_ || value_ == 0) // each order gives the same, or the sign of a factor is not certain
    return {value_, inputs == 0 ? 0 : no_bound};
  if (inputs == 0 && bits_ <= 24)
    return {value_, 0};
  double roundings = static_cast<double>(factors_) * roundoff;
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

double largest_exact_sum(int last_bit) { return last_bit < -149 ? 0 : std::ldexp(1, last_bit + 24); }

double sum_error(std::int64_t terms, std::int64_t nonzero, std::int64_t scale, double magnitude) {
  if (nonzero <= 0)
    return 0;
  // Each call of a matrix unit with a term other than 0 counts as a sum of its own.
  std::int64_t additions = scale == 1 ? nonzero - 1 : std::min(scale * (terms + 2), scale * 3 * nonzero);
  double roundings = static_cast<double>(additions) * roundoff;
  if (roundings >= 1)
    return no_bound;
  // The units may flush products below the normal numbers to 0.
  double underflow = static_cast<double>(nonzero) * (scale == 1 ? half_a_step : 0x1p-126);
  return roundings / (1 - roundings) * magnitude + underflow;
}

} // namespace nestsmith
