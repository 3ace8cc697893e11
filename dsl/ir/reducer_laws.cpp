#include "dsl/ir/reducer_laws.h"

#include "dsl/ir/array.h"
#include "dsl/ir/interpret.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

namespace nestsmith {

namespace {

using Element = std::vector<Scalar>; ///< one value for each part
constexpr std::size_t most_terms = 26;

/// Values on which operators often differ: zeros of both signs, infinities, NaN, the ends of a range.
std::vector<Scalar> values_of(DType dtype, Arithmetic arithmetic) {
  if (is_float(dtype) && arithmetic != Arithmetic::floating) {
    std::vector<Scalar> residues = {constant_of(arithmetic, dtype, -std::numeric_limits<double>::infinity())};
    for (double number : {0, 1, 123456789, -987654321})
      residues.push_back(constant_of(arithmetic, dtype, number));
    return residues;
  }
  std::vector<double> numbers = {0, 1};
  if (is_float(dtype)) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    numbers = {-infinity, -0.0, 2, infinity, std::numeric_limits<double>::quiet_NaN()};
  }
  std::vector<Scalar> values;
  for (double number : numbers)
    values.push_back(Scalar::from_double(dtype, number));
  if (is_float(dtype) || dtype == DType::boolean)
    return values;
  auto bits = static_cast<unsigned>(8 * byte_size(dtype));
  std::uint64_t all = ~std::uint64_t{0} >> (64 - bits), high = std::uint64_t{1} << (bits - 1);
  for (std::uint64_t extreme : {all >> 1, high, all}) // of signed numbers: the largest, the smallest, -1
    values.push_back({dtype, extreme});
  return values;
}

/// Terms: all combinations of the values of the parts, or those that a fixed pattern selects, and the identity.
std::vector<Element> terms_to_test(const Element &identity, Arithmetic arithmetic) {
  std::vector<std::vector<Scalar>> values;
  std::size_t all = 1;
  for (const Scalar &part : identity) {
    values.push_back(values_of(part.dtype, arithmetic));
    all = std::min<std::size_t>(all * values.back().size(), 1U << 30U);
  }
  std::vector<Element> elements = {identity};
  std::size_t count = std::min(all, most_terms - 1);
  for (std::size_t n = 0; n < count; ++n) {
    std::size_t rest = all <= count ? n : (n * 0x9e3779b1U + n) % all;
    Element element;
    for (const std::vector<Scalar> &of_part : values) {
      element.push_back(of_part[rest % of_part.size()]);
      rest /= of_part.size();
    }
    if (std::ranges::find(elements, element) == elements.end())
      elements.push_back(std::move(element));
  }
  return elements;
}

bool are_equal(const Scalar &a, const Scalar &b, Arithmetic arithmetic) {
  if (!is_float(a.dtype) || arithmetic != Arithmetic::floating)
    return a == b;
  double x = a.to_double(), y = b.to_double();
  if (std::isnan(x) || std::isnan(y))
    return std::isnan(x) && std::isnan(y);
  constexpr double roundings = 1e-5;
  bool finite = std::isfinite(x) && std::isfinite(y);
  return x == y || (finite && std::abs(x - y) <= roundings * std::max(std::abs(x), std::abs(y)));
}

class Laws {
public:
  Laws(const OwnReducer &reducer, Arithmetic arithmetic)
      : arithmetic_(arithmetic), commutative_(reducer.commutative), identity_(parts_of(reducer.identity)) {
    std::vector<Expr> operands;
    for (const Var &parameter : reducer.combine.parameters) {
      std::vector<Expr> parts;
      for (const Expr &part : identity_)
        parts.emplace_back(vars_.emplace_back(make_data("x", part.dtype())));
      operands.push_back(is_tuple(parameter->dtype) ? tuple(parameter->dtype, parts) : parts.front());
    }
    combined_ = parts_of(without_reducer_calls(call(reducer.combine, operands)));
  }

  std::optional<std::string> broken() {
    Element identity;
    for (const Expr &part : identity_)
      identity.push_back(evaluate(part, {}, arithmetic_));
    std::size_t none = number(identity);
    std::vector<std::size_t> terms, tested;
    for (const Element &term : terms_to_test(identity, arithmetic_)) {
      terms.push_back(number(term));
      if (std::size_t made = combined(none, terms.back()); std::ranges::find(tested, made) == tested.end())
        tested.push_back(made);
    }
    for (std::size_t a : tested)
      if (auto got = combined(none, a); !equal(got, a))
        return fmt::format("does not keep {}: combined with the identity {}, it is {}", text(a), text(none),
                           text(got));
    for (std::size_t a : tested)
      if (auto got = combined(a, none); !commutative_ && !equal(got, a))
        return fmt::format("does not keep {}: with the identity {} as the second operand, it is {}", text(a),
                           text(none), text(got));
    for (std::size_t a : tested)
      for (std::size_t t : terms)
        if (std::size_t made = combined(none, t); !equal(combined(a, t), combined(a, made)))
          return fmt::format(
              "treats the term {0} in another way than {1}, which the identity makes of it: of {2} "
              "they make {3} and {4}; a schedule combines terms with the identity first",
              text(t), text(made), text(a), text(combined(a, t)), text(combined(a, made)));
    for (std::size_t a : tested)
      for (std::size_t b : tested)
        if (commutative_ && !equal(combined(a, b), combined(b, a)))
          return fmt::format(
              "is not commutative: of {0} and {1} it makes {2}, and of {1} and {0} it makes {3}; declare "
              "it with {{.commutative = false}}, so that a schedule keeps the order of the terms",
              text(a), text(b), text(combined(a, b)), text(combined(b, a)));
    for (std::size_t a : tested)
      for (std::size_t b : tested)
        for (std::size_t c : tested)
          if (std::size_t left = combined(combined(a, b), c), right = combined(a, combined(b, c));
              !equal(left, right))
            return fmt::format(
                "is not associative: of {0}, {1} and {2} it makes {3} if it combines the first two "
                "first, else {4}; a schedule combines partial results",
                text(a), text(b), text(c), text(left), text(right));
    return std::nullopt;
  }

private:
  /// The number of an element; elements of the same bits have the same number.
  std::size_t number(const Element &element) {
    std::vector<std::uint64_t> bits;
    for (const Scalar &part : element)
      bits.push_back(part.bits);
    auto [at, fresh] = numbers_.try_emplace(std::move(bits), elements_.size());
    if (fresh)
      elements_.push_back(element);
    return at->second;
  }

  std::size_t combined(std::size_t a, std::size_t b) {
    if (auto known = results_.find({a, b}); known != results_.end())
      return known->second;
    std::map<Var, Scalar> values;
    for (std::size_t n = 0; n < vars_.size(); ++n) {
      std::size_t parts = identity_.size();
      values[vars_[n]] = n < parts ? elements_[a][n] : elements_[b][n - parts];
    }
    Element result;
    for (const Expr &part : combined_)
      result.push_back(evaluate(part, values, arithmetic_));
    return results_[{a, b}] = number(result);
  }

  bool equal(std::size_t a, std::size_t b) const {
    return a == b || std::ranges::equal(elements_[a], elements_[b], [&](const Scalar &x, const Scalar &y) {
             return are_equal(x, y, arithmetic_);
           });
  }

  std::string text(std::size_t number) const {
    std::string list;
    for (const Scalar &part : elements_[number])
      list += (list.empty() ? "" : ", ") + (is_float(part.dtype) || byte_size(part.dtype) < 8
                                                ? fmt::format("{}", part.to_double())
                                                : fmt::format("{}", static_cast<std::int64_t>(part.bits)));
    return elements_[number].size() == 1 ? list : "(" + list + ")";
  }

  Arithmetic arithmetic_;
  bool commutative_;
  std::vector<Expr> identity_, combined_;
  std::vector<Var> vars_; ///< the parts of both operands
  std::vector<Element> elements_;
  std::map<std::vector<std::uint64_t>, std::size_t> numbers_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> results_;
};

} // namespace

std::optional<std::string> broken_law(const OwnReducer &reducer, Arithmetic arithmetic) {
  return Laws(reducer, arithmetic).broken();
}

bool holds_for(const OwnReducer &reducer, Arithmetic arithmetic) {
  static std::mutex mutex;
  static std::map<std::pair<const OwnReducer *, Arithmetic>, bool> known; // a test takes milliseconds
  std::scoped_lock lock(mutex);
  auto [at, fresh] = known.try_emplace({&reducer, arithmetic});
  if (fresh)
    at->second = !broken_law(reducer, arithmetic);
  return at->second;
}

bool holds_exactly(const OwnReducer &reducer) {
  return holds_for(reducer, Arithmetic::field) || holds_for(reducer, Arithmetic::ring);
}

} // namespace nestsmith
