#include "runtime/check/comparison.h"

#include "runtime/check/error_analysis.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <utility>

namespace nestsmith {

namespace {

constexpr std::int64_t messages_for_elements = 3;

std::vector<std::int64_t> unflatten(std::int64_t position, const std::vector<std::int64_t> &shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0; position /= shape[d])
    index[d] = position % shape[d];
  return index;
}

/// The bits of an element as its dtype extends them to 64. A boolean that is neither 0 nor 1 stays what it is.
std::int64_t integer_of(Scalar element) {
  return element.dtype == DType::boolean ? static_cast<std::int64_t>(element.bits) : extended(element);
}

std::string text_of(DType dtype, std::int64_t value) {
  return dtype == DType::u64 ? std::to_string(static_cast<std::uint64_t>(value)) : std::to_string(value);
}

double distance(DType dtype, std::int64_t a, std::int64_t b) {
  bool less = dtype == DType::u64 ? static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b) : a < b;
  if (less)
    std::swap(a, b);
  return static_cast<double>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

/// Compares one output, element by element, into `result`.
class Comparison {
public:
  Comparison(const ReferenceOutput &expected, const Array &before, const Array &got, RunResult &result)
      : expected_(expected), before_(before), got_(got), useful_(expected), result_(result) {}

  void run() {
    bool real = expected_.is_real();
    ComparedOutput compared{expected_.buffer->name, got_.size(), 0};
    for (std::int64_t n = 0; n < got_.size(); ++n) {
      double bound = expected_.error_at(n);
      result_.exact &= bound == 0;
      if (!(bound < no_bound)) {
        ++result_.without_bound;
        continue;
      }
      compared.compared += useful_(n);
      result_.wide_bound += !useful_(n);
      real ? compare_real(n, bound) : compare_integer(n, bound);
    }
    result_.outputs.push_back(std::move(compared));
  }

private:
  void compare_integer(std::int64_t n, double bound) {
    auto at = static_cast<std::size_t>(n);
    std::int64_t expected = expected_.integer[at];
    std::int64_t value =
        is_float(got_.dtype()) ? static_cast<std::int64_t>(got_.at(n).bits) : integer_of(got_.at(n));
    auto number = static_cast<double>(value);
    if (value == expected || (bound != 0 && number >= expected_.lowest[at] && number <= expected_.highest[at]))
      return;
    double error = distance(got_.dtype(), value, expected);
    note_error(n, error, std::numeric_limits<double>::infinity());
    std::string range = bound == 0 ? ""
                                   : fmt::format(" (with all roundings, {:.0f} to {:.0f})",
                                                 expected_.lowest[at], expected_.highest[at]);
    wrong(n, static_cast<double>(value), expected_.value[at], text_of(got_.dtype(), value),
          text_of(got_.dtype(), expected), range);
  }

  void compare_real(std::int64_t n, double bound) {
    auto at = static_cast<std::size_t>(n);
    double expected = expected_.value[at], low = expected_.low_at(n);
    double value = got_.dtype() == DType::f32 ? got_.view<float>()[at] : got_.at(n).to_double();
    bool equal = same(n, value, expected, bound);
    double error = value == expected && low == 0 ? 0
                   : equal                       ? 0
                   : std::isfinite(value)        ? std::abs((value - expected) - low)
                                                 : std::abs(value - expected);
    note_error(n, error, error == 0 ? 0 : error / bound); // infinite where nothing but 0 is allowed
    if (equal || (bound != 0 && error <= bound))          // a NaN is not
      return;
    std::string detail = bound == 0 ? "" : fmt::format(" (error {:.3g}, bound {:.3g})", error, bound);
    wrong(n, value, expected, fmt::format("{:.9g}", value), fmt::format("{:.9g}", expected), detail);
  }

  /// In the exact runs, -0 does not pass for +0. The poison of an output does not pass for a NaN.
  bool same(std::int64_t n, double value, double expected, double bound) const {
    if (std::isnan(value) && std::isnan(expected))
      return !is_poison(n);
    bool signs = bound == 0 && !is_floating_point(result_.run) && expected_.signed_zeros;
    return value == expected && (!signs || std::signbit(value) == std::signbit(expected));
  }

  /// A NaN keeps its payload through arithmetic, so in an inout the old bits do not tell who wrote them.
  bool is_poison(std::int64_t n) const {
    return expected_.buffer->role == Role::output && got_.at(n) == before_.at(n);
  }

  void note_error(std::int64_t n, double error, double ratio) {
    if (std::isnan(error))
      error = ratio = std::numeric_limits<double>::infinity();
    if (ratio > result_.max_error_over_bound || (std::isinf(ratio) && error > result_.max_error))
      result_.where = unflatten(n, got_.shape());
    result_.max_error = std::max(result_.max_error, error);
    result_.max_error_over_bound = std::max(result_.max_error_over_bound, ratio);
  }

  void wrong(std::int64_t n, double value, double expected, const std::string &value_text,
             const std::string &expected_text, const std::string &detail) {
    result_.passed = false;
    if (!result_.first_wrong)
      result_.first_wrong = {expected_.buffer->name, unflatten(n, got_.shape()), value, expected};
    if (++result_.wrong_elements > messages_for_elements)
      return;
    std::string element =
        fmt::format("{}[{}]", expected_.buffer->name, fmt::join(unflatten(n, got_.shape()), ", "));
    if (is_poison(n))
      result_.messages.push_back(fmt::format("{} was never written; expected {}", element, expected_text));
    else
      result_.messages.push_back(
          fmt::format("{}: got {}, expected {}{}", element, value_text, expected_text, detail));
  }

  const ReferenceOutput &expected_;
  const Array &before_, &got_;
  UsefulBound useful_;
  RunResult &result_;
};

} // namespace

UsefulBound::UsefulBound(const ReferenceOutput &expected) : expected_(expected) {
  if (!expected.is_real()) {
    auto [least, most] = std::ranges::minmax(expected.value);
    widest_ = std::max(most - least, 1.0);
    return;
  }
  for (std::size_t n = 0; n < expected.value.size(); ++n) {
    double value = std::abs(expected.value[n]), operand = std::ldexp(expected.magnitude[n], -10);
    if (expected.error_at(static_cast<std::int64_t>(n)) < no_bound && std::isfinite(value))
      widest_ = std::max({widest_, value / 2, std::isfinite(operand) ? operand / 2 : 0});
  }
}

bool UsefulBound::operator()(std::int64_t position) const {
  double error = expected_.error_at(position);
  if (error == 0 || !(error < no_bound))
    return error == 0;
  if (expected_.is_real())
    return error <= widest_;
  auto at = static_cast<std::size_t>(position);
  return expected_.highest[at] - expected_.lowest[at] < widest_;
}

std::int64_t UsefulBound::count() const {
  if (expected_.error.empty())
    return std::ssize(expected_.value);
  std::int64_t count = 0;
  for (std::int64_t n = 0; n < std::ssize(expected_.value); ++n)
    count += (*this)(n);
  return count;
}

void compare_output(const ReferenceOutput &expected, const Array &before, const Array &got, RunResult &result) {
  Comparison(expected, before, got, result).run();
}

void count_wrong(RunResult &result) {
  if (result.wrong_elements > messages_for_elements)
    result.messages.push_back(fmt::format("{} elements are wrong in total", result.wrong_elements));
}

} // namespace nestsmith
