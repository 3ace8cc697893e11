#include "runtime/check/comparison.h"

#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

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
class Comparison {
public:
  Comparison(const ReferenceOutput &expected, const Array &before, const Array &got, std::int64_t roundings,
             RunResult &result)
      : expected_(expected), before_(before), got_(got), gamma_(error_bound(roundings, 1)), result_(result) {}

  void run() {
    for (std::int64_t n = 0; n < got_.size(); ++n)
      compare(n);
  }

private:
  void compare(std::int64_t n) {
    auto at = static_cast<std::size_t>(n);
    double expected = expected_.value[at];
    double value = got_.dtype() == DType::f32 ? got_.view<float>()[at] : got_.at(n).to_double();
    double error = same(value, expected) ? 0 : std::abs(value - expected);
    if (result_.run == CheckRun::random) {
      double bound = gamma_ * expected_.magnitude[at];
      double ratio = error == 0 ? 0 : error / bound; // infinite where nothing but 0 is allowed
      note_error(n, error, ratio);
      if (!(error <= bound)) // a NaN is not
        wrong(n, value, expected, fmt::format(" (error {:.3g}, bound {:.3g})", error, bound));
    } else {
      note_error(n, error, 0);
      if (!same(value, expected))
        wrong(n, value, expected, "");
    }
  }

  /// A NaN passes only where infinities make it one.
  bool same(double value, double expected) const {
    return value == expected || (with_infinities(result_.run) && std::isnan(value) && std::isnan(expected));
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

  void wrong(std::int64_t n, double value, double expected, const std::string &detail) {
    result_.passed = false;
    if (!result_.first_wrong)
      result_.first_wrong = {expected_.buffer->name, unflatten(n, got_.shape()), value, expected};
    if (++result_.wrong_elements > messages_for_elements)
      return;
    std::string element =
        fmt::format("{}[{}]", expected_.buffer->name, fmt::join(unflatten(n, got_.shape()), ", "));
    // A NaN keeps its payload through arithmetic, so in an inout the old bits do not tell who wrote them.
    if (expected_.buffer->role == Role::output && got_.at(n) == before_.at(n))
      result_.messages.push_back(fmt::format("{} was never written; expected {:.9g}", element, expected));
    else
      result_.messages.push_back(
          fmt::format("{}: got {:.9g}, expected {:.9g}{}", element, value, expected, detail));
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
