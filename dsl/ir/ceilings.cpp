#include "dsl/ir/ceilings.h"

#include "dsl/expr/ops.h"

#include <algorithm>

namespace nestsmith {

namespace {

Linear times(Linear sum, std::int64_t factor) {
  sum.constant *= factor;
  for (Term &term : sum.terms)
    term.coefficient *= factor;
  return sum;
}

/// The positive numbers by which a term of the ceiling becomes a term of the sum.
std::vector<std::int64_t> factors(const Linear &sum, const Linear &ceiling) {
  std::vector<std::int64_t> found;
  for (const Term &whole : sum.terms)
    for (const Term &part : ceiling.terms) {
      std::int64_t factor = whole.coefficient / part.coefficient;
      if (factor > 0 && whole.coefficient % part.coefficient == 0 && whole.digit.div == part.digit.div &&
          whole.digit.mod == part.digit.mod && same(whole.digit.base, part.digit.base) &&
          std::ranges::find(found, factor) == found.end())
        found.push_back(factor);
    }
  return found;
}

class Highest {
public:
  Highest(const std::vector<Ceiling> &ceilings, const Bounds &bounds) : ceilings_(ceilings), bounds_(bounds) {}

  /// A number that the sum does not exceed. Digits within `depth` digits are bounded by the ceilings, too. A
  /// ceiling may contain a digit of the sum that it bounds, so the depth must end.
  std::optional<std::int64_t> of(const Linear &sum, int depth) const {
    Linear rest = sum; // the sum is at most `taken` plus the rest
    std::int64_t taken = 0;
    auto best = of_terms(rest, depth);
    // [rule.region.ceiling] s <= f*m + r where f > 0, g <= m, s - f*g <= r
    for (const auto &[ceiling, most] : ceilings_) {
      std::optional<Linear> next;
      std::int64_t taken_next = 0;
      for (std::int64_t factor : factors(rest, ceiling)) {
        Linear without = linearize(to_expr(rest) - to_expr(times(ceiling, factor)), bounds_);
        auto high = of_terms(without, depth);
        std::int64_t product = 0, total = 0;
        if (!high || __builtin_mul_overflow(factor, most, &product) ||
            __builtin_add_overflow(product, taken, &product) || __builtin_add_overflow(product, *high, &total))
          continue;
        if (!best || total < *best) {
          best = total;
          taken_next = product;
          next = std::move(without);
        }
      }
      if (next) {
        rest = std::move(*next);
        taken = taken_next;
      }
    }
    return best;
  }

private:
  /// The value of the sum if each of its terms has its greatest value.
  std::optional<std::int64_t> of_terms(const Linear &sum, int depth) const {
    std::int64_t total = sum.constant;
    for (const auto &[factor, digit] : sum.terms) {
      auto values = range_of(digit, bounds_);
      std::int64_t product = 0;
      if (!values)
        return std::nullopt;
      std::int64_t end = end_of(digit, *values, factor > 0, depth);
      if (__builtin_mul_overflow(factor, end, &product) || __builtin_add_overflow(total, product, &total))
        return std::nullopt;
    }
    return total;
  }

  /// The greatest value of a digit with a known range, or the least value. A digit grows with its base until
  /// its modulus begins anew.
  std::int64_t end_of(const Digit &digit, Range values, bool greatest, int depth) const {
    std::int64_t known = greatest ? values.high : values.low;
    if (depth == 0 || digit.is_base())
      return known;
    Linear base = linearize(digit.base, bounds_);
    auto range = range_of(base, bounds_);
    if (digit.mod != 0 && !(greatest && range && range->low >= 0))
      return known;
    auto end = of(greatest ? base : times(base, -1), depth - 1);
    if (!end)
      return known;
    return greatest ? std::min(known, floor_div(*end, digit.div))
                    : std::max(known, floor_div(-*end, digit.div));
  }

  const std::vector<Ceiling> &ceilings_;
  const Bounds &bounds_;
};

} // namespace

std::optional<std::int64_t> highest_below(const Linear &sum, const std::vector<Ceiling> &ceilings,
                                          const Bounds &bounds) {
  return Highest(ceilings, bounds).of(sum, 2);
}

} // namespace nestsmith
