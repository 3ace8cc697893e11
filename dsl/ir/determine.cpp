#include "dsl/ir/region.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>

namespace nestsmith {

/// The values of expressions that are equal in two iterations, and what follows from them.
///
/// A known sum whose digits do not overlap makes its digits known. The digits of a number determine the number:
/// of F, the values F % c and F // c % m give F % (c*m), and F % c and F // c give F. The digits need no common
/// text. Each is compared in canonical form, in which (32*b + t//8) % 10 is (256*b + t) // 8 % 10.
namespace {

constexpr std::size_t most_sums = 32; ///< of known values; each that is taken apart may add others

bool same_digits(const Digit &a, const Digit &b) {
  return a.div == b.div && a.mod == b.mod && same(a.base, b.base);
}

/// x // M and x % M, where M depends on sizes, determine x.
bool quotient_and_remainder(const Expr &a, const Expr &b) {
  const auto *p = a.as<Binary>(), *q = b.as<Binary>();
  return p && q && p->op == BinaryOp::floordiv && q->op == BinaryOp::floormod && same(p->a, q->a) &&
         same(p->b, q->b);
}

/// Whether the value of `known` determines the value of `digit`: y = x//d % m gives x//(d*e) % n = y//e % n
/// where n*e divides m.
bool includes(const Digit &known, const Digit &digit) {
  if (digit.div % known.div != 0 || !same(known.base, digit.base))
    return false;
  std::int64_t end = 0; // of the digit, counted from the begin of the known one
  return known.mod == 0 || (digit.mod != 0 && !__builtin_mul_overflow(digit.div / known.div, digit.mod, &end) &&
                            known.mod % end == 0);
}

/// Whether the known digits of a base, which may overlap, determine its value.
bool complete(const Expr &base, std::vector<Digit> digits, const Bounds &bounds) {
  auto range = range_of(base, bounds);
  std::sort(digits.begin(), digits.end(), [](const Digit &a, const Digit &b) { return a.div < b.div; });
  std::int64_t next = 1;
  for (const Digit &digit : digits) {
    if (digit.div > next)
      return false;
    if (digit.mod == 0)
      return true;
    next = std::max(next, digit.div * digit.mod);
  }
  return range && range->low >= 0 && range->high < next;
}

class KnownValues {
public:
  KnownValues(FunctionRef<bool(const Var &)> fixed, const Bounds &bounds,
              const std::vector<GuardedValue> &guards)
      : fixed_(fixed), bounds_(bounds), guards_(guards) {}

  void add(const Expr &e) { add(linearize(e, bounds_)); }

  /// Whether the values that were added determine those of the variables.
  bool determine(const std::vector<Var> &wanted) {
    auto done = [&] {
      return std::ranges::all_of(wanted,
                                 [&](const Var &var) { return has_one_value({var}) || has(Expr(var)); });
    };
    for (std::size_t before = 0; !done() && before < found();) {
      before = found();
      for (std::size_t n = 0; n < digits_.size(); ++n) { // `digits_` grows meanwhile
        take_out_quotients(n);
        collect(Expr(digits_[n].base));
      }
      if (before == found() && !done())
        join(); // costs more than the rules above
    }
    return done();
  }

private:
  bool has(const Expr &base) const {
    return std::ranges::any_of(numbers_, [&](const Expr &other) { return same(base, other); });
  }
  std::size_t found() const { return sums_.size() + digits_.size() + numbers_.size(); }

  bool is_fixed(const Expr &e) const {
    return !any_node(e, [&](const Expr &node) {
      const Var *var = node.as<Var>();
      return var && !(*var)->size && !fixed_(*var);
    });
  }
  bool has_one_value(const Digit &digit) const {
    auto range = range_of(digit, bounds_);
    return range && range->low == range->high;
  }

  void add(Linear sum) {
    for (Digit &digit : separate(sum))
      if (std::ranges::none_of(digits_, [&](const Digit &other) { return same_digits(digit, other); }))
        digits_.push_back(std::move(digit));
    sums_.push_back(std::move(sum));
  }

  /// The digits that the value of the sum determines: the step of each is larger than the reach of all digits
  /// below it. The uppermost needs no range, unless it may wrap around.
  std::vector<Digit> separate(const Linear &sum) const {
    if (auto digits = separate_by_size(sum); !digits.empty())
      return digits;
    std::vector<Term> terms = with_guarded_quotients(sum).terms;
    std::erase_if(terms, [&](const Term &term) {
      return term.coefficient == std::numeric_limits<std::int64_t>::min() || is_fixed(term.digit.base) ||
             has_one_value(term.digit);
    });
    std::ranges::sort(terms, {}, [](const Term &term) { return std::abs(term.coefficient); });
    std::vector<Digit> digits;
    std::int64_t reached = 0;
    for (const Term &term : terms) {
      auto range = guarded_range(term.digit);
      bool uppermost = &term == &terms.back() && !term.digit.base.node().data;
      std::int64_t steps = 0;
      if (std::abs(term.coefficient) <= reached || (!range && !uppermost))
        return {};
      if (range && (__builtin_mul_overflow(std::abs(term.coefficient), range->high - range->low, &steps) ||
                    __builtin_add_overflow(reached, steps, &reached)))
        return {};
      digits.push_back(term.digit);
    }
    return digits;
  }

  /// D, if the digit is a product x*D with a fixed positive number, such as a size; otherwise null.
  Expr fixed_factor(const Digit &digit) const {
    const auto *op = digit.is_base() ? digit.base.as<Binary>() : nullptr;
    if (op && op->op == BinaryOp::mul)
      for (const auto &[factor, other] : {std::pair(op->a, op->b), std::pair(op->b, op->a)})
        if (is_fixed(factor) && !is_fixed(other) && proves(Expr(0) < factor, bounds_))
          return factor;
    return {};
  }

  /// The digits of x*D + r, where 0 <= r < D: x*D, and those of r. Empty for other sums.
  std::vector<Digit> separate_by_size(const Linear &sum) const {
    for (std::size_t n = 0; n < sum.terms.size(); ++n) {
      const Expr factor = sum.terms[n].coefficient == 1 ? fixed_factor(sum.terms[n].digit) : Expr();
      if (!factor.exists())
        continue;
      Linear rest = sum;
      rest.constant = 0;
      rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(n));
      std::erase_if(rest.terms, [&](const Term &term) { return is_fixed(term.digit.base); });
      const Expr value = to_expr(rest);
      if (!proves(Expr(0) <= value, bounds_) || !proves(value < factor, bounds_))
        continue;
      std::vector<Digit> digits = rest.terms.empty() ? std::vector<Digit>() : separate(rest);
      if (digits.empty() && !rest.terms.empty())
        continue;
      digits.push_back(sum.terms[n].digit);
      return digits;
    }
    return {};
  }

  /// The sum, with the terms of one quotient of a guarded value as one term. Its range may be smaller than the
  /// sum of theirs: in 3*b + t//32, where 96*b + t < 128.
  Linear with_guarded_quotients(Linear sum) const {
    for (const GuardedValue &guard : guards_) {
      Linear whole = linearize(guard.value, bounds_);
      for (std::size_t n = 0; n < sum.terms.size(); ++n)
        for (const Term &high : whole.terms) {
          if (!same(high.digit.base, sum.terms[n].digit.base) || high.coefficient == 0)
            continue;
          std::int64_t factor = std::max<std::int64_t>(1, sum.terms[n].coefficient / high.coefficient);
          std::int64_t divisor = high.coefficient / sum.terms[n].coefficient;
          Linear part = linearize(floordiv(guard.value, Expr(std::max<std::int64_t>(1, divisor))), bounds_);
          Linear scaled = linearize(to_expr(part) * Expr(factor), bounds_), rest = sum;
          std::erase_if(rest.terms, [&](const Term &term) { return has_term(scaled, term); });
          if (part.terms.size() < 2 || part.constant != 0 ||
              sum.terms.size() - rest.terms.size() != part.terms.size())
            continue;
          if (std::ranges::all_of(rest.terms, [&](const Term &term) { return is_fixed(term.digit.base); }))
            continue; // take the quotient apart
          rest.terms.push_back({factor, {to_expr(part)}});
          return rest;
        }
    }
    return sum;
  }
  static bool has_term(const Linear &sum, const Term &term) {
    return std::ranges::any_of(sum.terms, [&](const Term &other) {
      return term.coefficient == other.coefficient && same_digits(term.digit, other.digit);
    });
  }

  /// The range of the digit in the iterations in which the guards hold.
  std::optional<Range> guarded_range(const Digit &digit) const {
    auto range = range_of(digit, bounds_);
    if (digit.mod != 0)
      return range;
    auto limit = [&](const Expr &last) {
      auto end = last.exists() ? range_of(last, bounds_) : std::nullopt;
      if (end && range)
        range->high = std::clamp(end->high, range->low, range->high);
      else if (end && end->high >= 0 && proves(Expr(0) <= digit.base, bounds_))
        range = Range{0, end->high};
    };
    if (uses_size(digit.base) && !digit.base.node().data) {
      Expr divided = digit.base; // by sizes
      for (const auto *op = divided.as<Binary>(); op && op->op == BinaryOp::floordiv; op = divided.as<Binary>())
        divided = op->a;
      if (auto last = highest(divided, bounds_))
        limit(last_value(Linear{{{1, digit}}, 0}, {divided, *last + Expr(1)}));
    }
    for (const GuardedValue &guard : guards_)
      limit(last_value(Linear{{{1, digit}}, 0}, guard));
    return range;
  }

  /// The greatest value of x where the guard holds, if x is a quotient of the guarded value: (32*b + t//8) //
  /// 10 is (256*b + t) // 80. Null if it is no such quotient, or if the function cannot show this.
  Expr last_value(const Linear &x, const GuardedValue &guard) const {
    Linear whole = linearize(guard.value, bounds_);
    bool is_digit = x.terms.size() == 1 && x.constant == 0 && x.terms.front().coefficient == 1;
    const Digit digit = is_digit ? x.terms.front().digit : Digit{};
    Linear base = is_digit ? linearize(digit.base, bounds_) : x;
    for (const Term &low : base.terms)
      for (const Term &high : whole.terms) {
        std::int64_t divisor = high.coefficient / low.coefficient;
        if (divisor < 1 || !same(high.digit.base, low.digit.base) ||
            (is_digit && __builtin_mul_overflow(divisor, digit.div, &divisor)))
          continue;
        if (same(to_expr(linearize(floordiv(guard.value, Expr(divisor)), bounds_)), to_expr(x)))
          return simplify(floordiv(guard.extent - Expr(1), Expr(divisor)), bounds_);
      }
    // A quotient by a size is one term.
    const auto *op = is_digit ? digit.base.as<Binary>() : nullptr;
    if (!op || op->op != BinaryOp::floordiv || !proves(Expr(0) < op->b, bounds_))
      return {};
    Expr last = last_value(linearize(op->a, bounds_), guard);
    return last.exists() ? simplify(floordiv(floordiv(last, op->b), Expr(digit.div)), bounds_) : Expr();
  }

  bool knows(const Term &term) const {
    return is_fixed(term.digit.base) || has_one_value(term.digit) || has(term.digit.base) ||
           std::ranges::any_of(digits_, [&](const Digit &digit) { return includes(digit, term.digit); });
  }

  /// Whether all terms are known, apart from those of a known sum.
  bool knows(const Linear &x) const {
    auto unknown = [&](const Linear &sum) {
      std::vector<Term> terms = sum.terms;
      std::erase_if(terms, [&](const Term &term) { return knows(term); });
      return terms;
    };
    std::vector<Term> rest = unknown(x);
    auto is_rest = [&](const Linear &sum) {
      std::vector<Term> terms = unknown(sum);
      return terms.size() == rest.size() &&
             std::ranges::all_of(terms, [&](const Term &term) { return has_term({rest}, term); });
    };
    return rest.empty() || std::ranges::any_of(sums_, is_rest);
  }

  /// A sum and a remainder are known. If the sum contains the quotient, a sum without it is known too:
  /// y + c*(x//m) and x % m give m*y + c*x.
  void take_out_quotients(std::size_t n) {
    std::int64_t div = 0;
    Digit remainder = digits_[n];
    if (remainder.mod == 0 || __builtin_mul_overflow(remainder.div, remainder.mod, &div))
      return;
    taken_out_.resize(digits_.size());
    for (std::size_t &m = taken_out_[n]; m < sums_.size() && sums_.size() < most_sums; ++m)
      for (const auto &[factor, digit] : sums_[m].terms)
        if (digit.div == div && digit.mod == 0 && same(digit.base, remainder.base)) {
          Linear both = linearize(
              to_expr(sums_[m]) * Expr(remainder.mod) + to_expr(Linear{{{factor, remainder}}, 0}), bounds_);
          if (!has_sum(both))
            add(std::move(both));
          break;
        }
  }

  bool has_sum(const Linear &sum) {
    while (sums_as_exprs_.size() < sums_.size())
      sums_as_exprs_.push_back(to_expr(sums_[sums_as_exprs_.size()]));
    Expr e = to_expr(sum);
    return std::ranges::any_of(sums_as_exprs_, [&](const Expr &other) { return same(other, e); });
  }

  /// The extents of known values: a digit of a number may have one of them.
  std::vector<std::int64_t> extents() const {
    std::vector<std::int64_t> result;
    for (const Digit &digit : digits_)
      result.push_back(digit.mod);
    for (const Linear &sum : sums_)
      if (auto range = range_of(sum, bounds_); range && range->low >= 0 && range->high < most_divisor)
        result.push_back(range->high + 1);
    std::erase_if(result, [](std::int64_t extent) { return extent < 2; });
    std::ranges::sort(result, std::greater());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }

  /// Collects the known digits of a number from the lowest on. If they determine it, takes it apart in turn.
  /// Otherwise, its remainder may be a sum of other digits: (256*b + t) % 50176 = 256*(b % 196) + t.
  void collect(const Expr &number) {
    if (has(number))
      return;
    std::vector<Digit> own;
    std::ranges::copy_if(digits_, std::back_inserter(own),
                         [&](const Digit &digit) { return same(digit.base, number); });
    if (complete(number, std::move(own), bounds_))
      return add_number(number);
    auto range = range_of(number, bounds_);
    std::vector<std::int64_t> candidates = extents();
    std::int64_t most = number.dtype() == DType::i64 ? most_divisor : std::numeric_limits<std::int32_t>::max();
    std::int64_t known = 1; // number % known is known
    for (std::int64_t next = 1; next != 0; known = std::max(known, next)) {
      Linear quotient = linearize(floordiv(number, Expr(known)), bounds_);
      if (knows(quotient) || (range && range->low >= 0 && range->high < known))
        return add_number(number);
      next = 0;
      for (std::int64_t extent : candidates)
        if (std::int64_t end = 0; next == 0 && !__builtin_mul_overflow(known, extent, &end) && end <= most &&
                                  knows(linearize(floormod(to_expr(quotient), Expr(extent)), bounds_)))
          next = end;
    }
    if (known == 1 || number.as<Var>())
      return;
    if (Linear rest = linearize(floormod(number, Expr(known)), bounds_);
        rest.terms.size() > 1 && !has_sum(rest))
      add(std::move(rest));
  }

  /// Tries the numbers of which a base of digits is a quotient, and a known sum the remainder. Of 4*t + v, the
  /// remainder by 6 and the digits of t may be known: no digit has the base 4*t + v.
  void join() {
    for (std::size_t n = 0; n < digits_.size(); ++n)
      for (std::size_t m = 0; m < sums_.size() && sums_.size() < most_sums; ++m) {
        auto range = range_of(sums_[m], bounds_);
        Expr base = digits_[n].base;
        if (!range || range->low != 0 || range->high < 1 || range->high >= most_divisor || base.node().data)
          continue;
        Linear whole = linearize(base * Expr(range->high + 1) + to_expr(sums_[m]), bounds_);
        if (std::ranges::any_of(sums_[m].terms, [&](const Term &term) { return has_term(whole, term); }))
          continue; // the sum is the remainder of no part of the base
        Expr number = to_expr(whole);
        if (std::ranges::any_of(joined_, [&](const Expr &other) { return same(number, other); }))
          continue;
        joined_.push_back(number);
        collect(number);
      }
  }

  void add_number(const Expr &number) {
    numbers_.push_back(number);
    if (!number.as<Var>())
      add(linearize(number, bounds_));
    for (const Expr &other : std::vector(numbers_))
      if (quotient_and_remainder(number, other) || quotient_and_remainder(other, number))
        digits_.push_back({number.as<Binary>()->a});
    if (const Expr factor = fixed_factor({number}); factor.exists()) { // x*D determines x
      const auto &op = *number.as<Binary>();
      if (const Expr other = same(op.a, factor) ? op.b : op.a; !has(other))
        add_number(other);
    }
  }

  static constexpr std::int64_t most_divisor = std::int64_t{1} << 61; ///< larger ones are not simplified

  FunctionRef<bool(const Var &)> fixed_;
  const Bounds &bounds_;
  const std::vector<GuardedValue> &guards_;
  std::vector<Linear> sums_;
  std::vector<Expr> sums_as_exprs_;
  std::vector<std::size_t> taken_out_; ///< for each digit, the number of sums that it was taken out of
  std::vector<Digit> digits_;
  std::vector<Expr> joined_;  ///< numbers that `join` has tried
  std::vector<Expr> numbers_; ///< bases of digits that are known
};

} // namespace

bool determine(const std::vector<Expr> &exprs, const std::vector<Var> &wanted,
               FunctionRef<bool(const Var &)> fixed, const Bounds &bounds,
               const std::vector<GuardedValue> &guards) {
  KnownValues known(fixed, bounds, guards);
  for (const Expr &e : exprs)
    known.add(e);
  return known.determine(wanted);
}

} // namespace nestsmith
