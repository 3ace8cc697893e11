#include "dsl/simplify.h"

#include "dsl/printer.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace nestsmith {

namespace {

/// Rewrites one expression under fixed bounds. Notation: x, y are integer expressions, c, d, m > 0.
class Rewriter {
public:
  explicit Rewriter(const Bounds &bounds) : bounds_(bounds) {}

  Linear linearize(const Expr &e) {
    if (auto value = as_int(e))
      return {{}, *value};
    const auto *op = e.as<Binary>();
    if (!op)
      return rest_of(e);
    auto divisor = as_int(op->b);
    switch (op->op) {
    case BinaryOp::add:
      return sum(linearize(op->a), linearize(op->b), 1);
    case BinaryOp::sub:
      return sum(linearize(op->a), linearize(op->b), -1);
    case BinaryOp::mul: {
      Linear a = linearize(op->a), b = linearize(op->b);
      if (b.terms.empty())
        return scale(std::move(a), b.constant);
      if (a.terms.empty())
        return scale(std::move(b), a.constant);
      return atom(to_expr(a) * to_expr(b));
    }
    case BinaryOp::floordiv:
      if (divisor && *divisor > 0)
        return divide(linearize(op->a), *divisor);
      break;
    case BinaryOp::floormod:
      if (divisor && *divisor > 0)
        return modulo(linearize(op->a), *divisor);
      break;
    case BinaryOp::min:
    case BinaryOp::max: {
      auto difference = range(sum(linearize(op->a), linearize(op->b), -1));
      bool is_min = op->op == BinaryOp::min;
      if (difference && difference->high <= 0)
        return linearize(is_min ? op->a : op->b);
      if (difference && difference->low >= 0)
        return linearize(is_min ? op->b : op->a);
      break;
    }
    default:
      break;
    }
    return rest_of(e);
  }

  Expr simplify(const Expr &e) {
    if (!e)
      return e;
    if (const auto *op = e.as<Binary>(); op && is_comparison(op->op) && is_index(op->a.dtype()))
      return compare(*op, e);
    if (!is_index(e.dtype()))
      return map_children(e, [&](const Expr &child) { return simplify(child); });
    Expr result = to_expr(linearize(e), e.dtype());
    return same(result, e) ? e : result;
  }

  std::optional<Range> range(const Linear &linear) {
    Range total{linear.constant, linear.constant};
    for (const Term &term : linear.terms) {
      auto r = range(term.digit);
      std::int64_t a = 0, b = 0;
      if (!r || __builtin_mul_overflow(r->low, term.coefficient, &a) ||
          __builtin_mul_overflow(r->high, term.coefficient, &b) ||
          __builtin_add_overflow(total.low, std::min(a, b), &total.low) ||
          __builtin_add_overflow(total.high, std::max(a, b), &total.high))
        return std::nullopt;
    }
    return total;
  }

private:
  std::optional<Range> range(const Digit &digit) {
    auto r = base_range(digit.base);
    if (r)
      r = Range{floor_div(r->low, digit.div), floor_div(r->high, digit.div)};
    if (digit.mod == 0)
      return r;
    if (r && floor_div(r->low, digit.mod) == floor_div(r->high, digit.mod))
      return Range{floor_mod(r->low, digit.mod), floor_mod(r->high, digit.mod)};
    return Range{0, digit.mod - 1};
  }

  std::optional<Range> base_range(const Expr &base) {
    if (const Var *var = base.as<Var>())
      return bounds_.find(*var);
    if (const auto *op = base.as<Binary>()) {
      auto a = range_of(op->a, bounds_), b = range_of(op->b, bounds_);
      if (!a || !b)
        return std::nullopt;
      if (op->op == BinaryOp::min)
        return Range{std::min(a->low, b->low), std::min(a->high, b->high)};
      if (op->op == BinaryOp::max)
        return Range{std::max(a->low, b->low), std::max(a->high, b->high)};
      if (op->op == BinaryOp::mul)
        return product(*a, *b);
      if (op->op == BinaryOp::bit_xor && a->low >= 0 && b->low >= 0)
        return Range{0, fill_bits(std::max(a->high, b->high))};
      if (op->op == BinaryOp::shift_right && b->low == b->high)
        return Range{a->low >> b->low, a->high >> b->low};
      if (op->op == BinaryOp::add || op->op == BinaryOp::sub)
        return range(linearize(base));
    }
    if (const auto *choice = base.as<Select>()) {
      auto a = range_of(choice->when_true, bounds_), b = range_of(choice->when_false, bounds_);
      if (a && b)
        return Range{std::min(a->low, b->low), std::max(a->high, b->high)};
    }
    if (const auto *conversion = base.as<Cast>(); conversion && is_index(conversion->a.dtype()))
      return range_of(conversion->a, bounds_);
    return std::nullopt;
  }

  /// Simplifies the operands only, which may leave something of another kind: min(3, 4).
  Linear rest_of(const Expr &e) {
    Expr result = map_children(e, [&](const Expr &child) { return simplify(child); });
    const auto *before = e.as<Binary>(), *after = result.as<Binary>();
    bool same_kind =
        before ? after && after->op == before->op : result.node().kind.index() == e.node().kind.index();
    return same_kind ? atom(result) : linearize(result);
  }

  static std::optional<Range> product(Range a, Range b) {
    Range result{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
    for (std::int64_t x : {a.low, a.high})
      for (std::int64_t y : {b.low, b.high}) {
        std::int64_t xy = 0;
        if (__builtin_mul_overflow(x, y, &xy))
          return std::nullopt;
        result = {std::min(result.low, xy), std::max(result.high, xy)};
      }
    return result;
  }

  Linear atom(Expr e) { return {{{1, {std::move(e), 1, 0}}}, 0}; }

  Linear scale(Linear linear, std::int64_t factor) {
    if (factor == 0)
      return {};
    for (Term &term : linear.terms)
      term.coefficient *= factor;
    linear.constant *= factor;
    return linear;
  }

  static bool same_digit(const Digit &a, const Digit &b) {
    return a.div == b.div && a.mod == b.mod && same(a.base, b.base);
  }

  Linear sum(Linear a, const Linear &b, std::int64_t sign) {
    for (const Term &term : b.terms)
      add(a, {term.coefficient * sign, term.digit});
    a.constant += sign * b.constant;
    merge(a);
    return a;
  }

  void add(Linear &linear, Term term) {
    for (auto it = linear.terms.begin(); it != linear.terms.end(); ++it)
      if (same_digit(it->digit, term.digit)) {
        it->coefficient += term.coefficient;
        if (it->coefficient == 0)
          linear.terms.erase(it);
        return;
      }
    linear.terms.push_back(std::move(term));
  }

  /// k*(x//d % m) + k*m*(x//(d*m) [% n])  =  k*(x//d [% (m*n)])
  void merge(Linear &linear) {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t low = 0; low < linear.terms.size() && !changed; ++low)
        for (std::size_t high = 0; high < linear.terms.size() && !changed; ++high)
          changed = merge(linear, low, high);
    }
  }
  bool merge(Linear &linear, std::size_t low, std::size_t high) {
    Term a = linear.terms[low], b = linear.terms[high];
    if (low == high || a.digit.mod == 0 || b.coefficient != a.coefficient * a.digit.mod ||
        b.digit.div != a.digit.div * a.digit.mod || !same(a.digit.base, b.digit.base))
      return false;
    linear.terms.erase(linear.terms.begin() + static_cast<std::ptrdiff_t>(std::max(low, high)));
    linear.terms.erase(linear.terms.begin() + static_cast<std::ptrdiff_t>(std::min(low, high)));
    Digit joined{a.digit.base, a.digit.div, b.digit.mod == 0 ? 0 : a.digit.mod * b.digit.mod};
    Linear whole = joined.div == 1 && joined.mod == 0 ? linearize(joined.base) : Linear{{{1, joined}}, 0};
    linear = sum(std::move(linear), scale(std::move(whole), a.coefficient), 1);
    return true;
  }

  /// x = c*quotient + rest, by coefficients.
  static std::pair<Linear, Linear> split(const Linear &x, std::int64_t c) {
    Linear quotient, rest;
    for (const Term &term : x.terms)
      if (term.coefficient % c == 0)
        quotient.terms.push_back({term.coefficient / c, term.digit});
      else
        rest.terms.push_back(term);
    quotient.constant = floor_div(x.constant, c);
    rest.constant = floor_mod(x.constant, c);
    return {quotient, rest};
  }

  /// A divisor g > 1 of c such that x = g*y + r with 0 <= r < g; gives y and r.
  std::optional<std::pair<Linear, Linear>> common_factor(const Linear &x, std::int64_t c,
                                                         std::int64_t &factor) {
    for (const Term &term : x.terms) {
      factor = std::gcd(term.coefficient, c);
      if (factor <= 1)
        continue;
      auto parts = split(x, factor);
      auto r = range(parts.second);
      if (r && r->low >= 0 && r->high < factor)
        return parts;
    }
    return std::nullopt;
  }

  /// x // c
  Linear divide(const Linear &x, std::int64_t c) {
    if (c == 1)
      return x;
    auto [quotient, rest] = split(x, c);
    if (auto r = range(rest); r && floor_div(r->low, c) == floor_div(r->high, c)) {
      quotient.constant += floor_div(r->low, c);
      return quotient;
    }
    std::int64_t g = 1;
    if (auto parts = common_factor(rest, c, g)) // (g*y + r) // (g*c') = y // c'  where 0 <= r < g
      return sum(std::move(quotient), divide(parts->first, c / g), 1);
    return sum(std::move(quotient), digit_of(rest, c, 0), 1);
  }

  /// x % c
  Linear modulo(const Linear &x, std::int64_t c) {
    Linear rest = split(x, c).second;
    if (auto r = range(rest); r && floor_div(r->low, c) == floor_div(r->high, c)) {
      rest.constant -= c * floor_div(r->low, c);
      return rest;
    }
    std::int64_t g = 1;
    if (auto parts = common_factor(rest, c, g)) // (g*y + r) % (g*c') = g*(y % c') + r  where 0 <= r < g
      return sum(scale(modulo(parts->first, c / g), g), parts->second, 1);
    return digit_of(rest, 1, c);
  }

  /// rest // div % mod as one digit, through a digit that rest may already be:
  ///   (x//d) // c = x//(d*c)      (x//d % (c*m)) // c = x//(d*c) % m      (x//d % (c*m)) % c = x//d % c
  Linear digit_of(const Linear &rest, std::int64_t div, std::int64_t mod) {
    if (rest.terms.size() == 1 && rest.terms[0].coefficient == 1 && rest.constant == 0) {
      const Digit &inner = rest.terms[0].digit;
      if (inner.mod == 0 && mod == 0 && inner.div != 1)
        return divide(linearize(inner.base), inner.div * div);
      if (inner.mod == 0)
        return one({inner.base, inner.div * div, mod});
      if (inner.mod % div == 0 && mod == 0)
        return modulo(divide(linearize(inner.base), inner.div * div), inner.mod / div);
      if (div == 1 && inner.mod % mod == 0)
        return one({inner.base, inner.div, mod});
    }
    return one({to_expr(rest), div, mod});
  }

  /// A digit whose range is a single value is that value.
  Linear one(Digit digit) {
    if (auto r = range(digit); r && r->low == r->high)
      return {{}, r->low};
    if (digit.mod != 0) // x//d % m = x//d where x//d < m anyway
      if (auto r = range(Digit{digit.base, digit.div, 0}); r && r->low >= 0 && r->high < digit.mod)
        digit.mod = 0;
    return {{{1, std::move(digit)}}, 0};
  }

  Expr compare(const Binary &op, const Expr &e) {
    auto difference = range(sum(linearize(op.a), linearize(op.b), -1));
    if (difference) {
      auto [low, high] = *difference;
      if (op.op == BinaryOp::lt && (high < 0 || low >= 0))
        return boolean(high < 0);
      if (op.op == BinaryOp::le && (high <= 0 || low > 0))
        return boolean(high <= 0);
      bool apart = low > 0 || high < 0, equal = low == 0 && high == 0;
      if (op.op == BinaryOp::eq && (apart || equal))
        return boolean(equal);
      if (op.op == BinaryOp::ne && (apart || equal))
        return boolean(apart);
    }
    return map_children(e, [&](const Expr &child) { return simplify(child); });
  }

  const Bounds &bounds_;
};

} // namespace

static Expr to_expr(const Digit &digit, DType dtype) {
  Expr result = digit.base;
  if (digit.div != 1)
    result = floordiv(result, int_imm(digit.div, dtype));
  if (digit.mod != 0)
    result = floormod(result, int_imm(digit.mod, dtype));
  return result;
}

/// Larger coefficients first, then by spelling: equal sums come out in the same order.
static void order(std::vector<Term> &terms) {
  std::vector<std::pair<std::string, Term>> keyed;
  for (Term &term : terms)
    keyed.emplace_back(terms.size() > 1 ? to_string(to_expr(term.digit, DType::i64)) : "", std::move(term));
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto &a, const auto &b) {
    return std::tuple(-a.second.coefficient, a.first) < std::tuple(-b.second.coefficient, b.first);
  });
  for (std::size_t n = 0; n < terms.size(); ++n)
    terms[n] = std::move(keyed[n].second);
}

Linear linearize(const Expr &e, const Bounds &bounds) {
  Linear linear = Rewriter(bounds).linearize(e);
  order(linear.terms);
  return linear;
}

Expr to_expr(const Linear &linear, DType dtype) {
  Expr result;
  auto append = [&](const Expr &e) { result = result ? result + e : e; };
  std::vector<Term> terms = linear.terms;
  order(terms);
  for (const Term &term : terms) {
    Expr digit = to_expr(term.digit, dtype);
    if (static_cast<bool>(result) && term.coefficient < 0)
      result = result - digit * int_imm(-term.coefficient, dtype);
    else
      append(digit * int_imm(term.coefficient, dtype));
  }
  if (!result)
    return int_imm(linear.constant, dtype);
  return linear.constant < 0 ? result - int_imm(-linear.constant, dtype)
                             : result + int_imm(linear.constant, dtype);
}

Expr simplify(const Expr &e, const Bounds &bounds) { return Rewriter(bounds).simplify(e); }

std::optional<Range> range_of(const Expr &e, const Bounds &bounds) {
  Rewriter rewriter(bounds);
  return rewriter.range(rewriter.linearize(e));
}

bool proves(const Expr &condition, const Bounds &bounds) { return is_true(simplify(condition, bounds)); }

} // namespace nestsmith
