#include "runtime/check/comparison.h"

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

/// Compares one output, element by element, into `result`.
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
  Comparison(const ReferenceOutput &expected, const Array &before, const Array &got, std::int64_t roundings,
             RunResult &result)
      : expected_(expected), before_(before), got_(got), gamma_(error_bound(roundings, 1)), result_(result) {}

  void run() {
    bool real = is_float(got_.dtype());
    for (std::int64_t n = 0; n < got_.size(); ++n)
      real ? compare_real(n) : compare_integer(n);
  }

private:
  void compare_integer(std::int64_t n) {
    std::int64_t expected = expected_.integer[static_cast<std::size_t>(n)];
    std::int64_t value = integer_of(got_.at(n));
    if (value == expected)
      return;
    double error = distance(got_.dtype(), value, expected);
    note_error(n, error, std::numeric_limits<double>::infinity());
    wrong(n, got_.at(n).to_double(), expected_.value[static_cast<std::size_t>(n)], text_of(got_.dtype(), value),
          text_of(got_.dtype(), expected), "");
  }

  void compare_real(std::int64_t n) {
    auto at = static_cast<std::size_t>(n);
    double expected = expected_.value[at];
    double value = got_.dtype() == DType::f32 ? got_.view<float>()[at] : got_.at(n).to_double();
    double error = value == expected || same(n, value, expected) ? 0 : std::abs(value - expected);
    double bound = result_.run == CheckRun::random ? gamma_ * expected_.magnitude[at] : 0;
    if (!std::isfinite(bound)) {
      ++result_.without_bound;
      return;
    }
    double ratio = error == 0 ? 0 : error / bound; // infinite where nothing but 0 is allowed
    note_error(n, error, ratio);
    if (same(n, value, expected) || (result_.run == CheckRun::random && error <= bound)) // a NaN is not
      return;
    std::string detail =
        result_.run == CheckRun::random ? fmt::format(" (error {:.3g}, bound {:.3g})", error, bound) : "";
    wrong(n, value, expected, fmt::format("{:.9g}", value), fmt::format("{:.9g}", expected), detail);
  }

  /// In the exact runs, -0 does not pass for +0. The poison of an output does not pass for a NaN.
  bool same(std::int64_t n, double value, double expected) const {
    if (std::isnan(value) && std::isnan(expected))
      return !is_poison(n);
    bool signs = result_.run != CheckRun::random && expected_.signed_zeros;
    return value == expected && (!signs || std::signbit(value) == std::signbit(expected));
  }

  /// A NaN keeps its payload through arithmetic, so in an inout the old bits do not tell who wrote them.
  bool is_poison(std::int64_t n) const {
    return expected_.buffer->role == Role::output && got_.at(n) == before_.at(n);
  }

  void note_error(std::int64_t n, double error, double ratio) {
    if (std::isnan(error))
      error = ratio = std::numeric_limits<double>::infinity();
    bool worse =
        result_.run == CheckRun::random ? ratio > result_.max_error_over_bound : error > result_.max_error;
    if (worse)
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
  double gamma_;
  RunResult &result_;
};

} // namespace

void compare_output(const ReferenceOutput &expected, const Array &before, const Array &got,
                    std::int64_t roundings, RunResult &result) {
  Comparison(expected, before, got, roundings, result).run();
}

void count_wrong(RunResult &result) {
  if (result.wrong_elements > messages_for_elements)
    result.messages.push_back(fmt::format("{} elements are wrong in total", result.wrong_elements));
}

} // namespace nestsmith
