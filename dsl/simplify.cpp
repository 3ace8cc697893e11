#include "dsl/simplify.h"

#include "dsl/printer.h"
#include "dsl/watch_answers.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallVector.h>
#include <numeric>
#include <tuple>

namespace nestsmith {

namespace {

/// A size is a multiple of its unit: M = unit * (M // unit) exactly, and is kept as such, so that what divides
/// the unit divides M. Terms of sizes come back as M in `to_expr`.
/// [rule.size.unit] M = u*(M//u) where u > 0, M % u = 0
std::int64_t unit_of(const Expr &e) {
  const Var *var = e.as<Var>();
  return var && (*var)->size ? (*var)->size->multiple_of : 1;
}
bool is_whole_size(const Digit &digit) {
  const Var *var = digit.base.as<Var>();
  return var && (*var)->size && digit.div == unit_of(digit.base) && digit.mod == 0;
}
/// Whether its value is one for the whole launch and known only then.
bool is_of_sizes(const Expr &e) {
  bool sizes = false, others = false;
  walk(e, [&](const Expr &node) {
    if (const Var *var = node.as<Var>())
      ((*var)->size ? sizes : others) = true;
    others = others || node.as<Load>() || node.as<Lane>() || node.as<Call>();
  });
  return sizes && !others;
}

/// A linear form in the making. Most have few terms, which need no memory of their own here.
struct Form {
  llvm::SmallVector<Term, 4> terms;
  std::int64_t constant = 0;

  Form() = default;
  Form(std::initializer_list<Term> list, std::int64_t plus) : terms(list), constant(plus) {}
  explicit Form(const Linear &linear)
      : terms(linear.terms.begin(), linear.terms.end()), constant(linear.constant) {}
};

Expr to_expr(const Form &form, DType dtype = DType::i64);

/// Rewrites one expression under fixed bounds. Each rule is written beside its code, in integers without
/// bounds, with a name in brackets, and tests/proofs/rule.h proves it as it stands there.
///
/// A linear form is kept by:
/// [rule.linear.collect] k*x + l*x = (k + l)*x
/// [rule.linear.scale] f*(k*x + n) = (f*k)*x + f*n
class Rewriter {
public:
  explicit Rewriter(const Bounds &bounds) : bounds_(bounds) {}

  Form linearize(const Expr &e) {
    Form result;
    gather(e, 1, result);
    merge(result);
    return result;
  }

  /// The same where `e` is no sum and no multiple of anything by a constant.
  Form linearize_term(const Expr &e) {
    const auto *op = e.as<Binary>();
    if (!op)
      return rest_of(e);
    auto divisor = as_int(op->b);
    switch (op->op) {
    case BinaryOp::mul: {
      Form a = linearize(op->a), b = linearize(op->b);
      if (b.terms.empty())
        return scale(std::move(a), b.constant);
      if (a.terms.empty())
        return scale(std::move(b), a.constant);
      Expr x = to_expr(a), y = to_expr(b);
      if (is_of_sizes(x) && is_of_sizes(y) && to_string(y) < to_string(x))
        std::swap(x, y); // [rule.mul.order] x*y = y*x
      return atom(x * y);
    }
    case BinaryOp::floordiv:
      if (divisor && *divisor > 0)
        return divide(linearize(op->a), *divisor);
      if (auto result = divide(*op))
        return *result;
      break;
    case BinaryOp::floormod:
      if (divisor && *divisor > 0)
        return modulo(linearize(op->a), *divisor);
      if (auto result = divide(*op))
        return *result;
      break;
    case BinaryOp::min:
    case BinaryOp::max: {
      auto difference = range(sum(linearize(op->a), linearize(op->b), -1));
      bool is_min = op->op == BinaryOp::min;
      // [rule.order.below] min(x, y) = x, max(x, y) = y where x - y <= 0
      if (difference && difference->high <= 0)
        return linearize(is_min ? op->a : op->b);
      // [rule.order.above] min(x, y) = y, max(x, y) = x where x - y >= 0
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
    if (!e.exists() || e.as<IntImm>() || e.as<Var>())
      return e;
    if (const auto *op = e.as<Binary>(); op && is_comparison(op->op) && is_index(op->a.dtype()))
      return compare(*op, e);
    if (!is_index(e.dtype()))
      return map_children(e, [&](const Expr &child) { return simplify(child); });
    Expr result = to_expr(linearize(e), e.dtype());
    return same(result, e) ? e : result;
  }

  std::optional<Range> range(const Expr &e) {
    if (auto value = as_int(e))
      return Range{*value, *value};
    const Var *var = e.as<Var>();
    return var && !(*var)->size ? bounds_.find(*var) : range(linearize(e));
  }

  /// The interval of the terms one by one, and, where sizes are in it, that of what is left when variables have
  /// gone to the ends of their extents and the sizes have cancelled: i - M < 0 where i runs over M.
  std::optional<Range> range(const Form &linear) {
    auto result = interval(linear);
    if (linear.terms.size() < 2 || !depends_on_sizes(linear))
      return result;
    auto high = highest_constant(linear), low = highest_constant(scale(linear, -1));
    if (high && (!result || *high < result->high))
      result = Range{result ? result->low : std::numeric_limits<std::int64_t>::min(), *high};
    if (low && (!result || -*low > result->low))
      result = Range{-*low, result ? result->high : std::numeric_limits<std::int64_t>::max()};
    bool known = result && result->low != std::numeric_limits<std::int64_t>::min() &&
                 result->high != std::numeric_limits<std::int64_t>::max();
    return known ? result : std::nullopt;
  }

  /// At least x, with every variable that has an extent of sizes at its end, or at 0 where it is subtracted.
  /// Terms of sizes alone stay.
  std::optional<Form> at_ends(const Form &x) {
    Form result{{}, x.constant};
    for (const Term &term : x.terms) {
      auto end = at_end(term);
      if (!end)
        return std::nullopt;
      result = sum(std::move(result), *end, 1);
    }
    return result;
  }

  bool depends_on_sizes(const Form &x) const {
    return std::any_of(x.terms.begin(), x.terms.end(), [&](const Term &term) {
      bool found = false;
      walk(term.digit.base, [&](const Expr &node) {
        if (const Var *var = node.as<Var>())
          found = found || (*var)->size || bounds_.find_extent(*var);
      });
      return found;
    });
  }

  /// [rule.interval.term] n + k*l <= n + k*x, n + k*x <= n + k*h where k >= 0, l <= x, x <= h
  /// [rule.interval.subtracted] n + k*h <= n + k*x, n + k*x <= n + k*l where k < 0, l <= x, x <= h
  std::optional<Range> interval(const Form &linear) {
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
  std::optional<std::int64_t> highest_constant(const Form &x) {
    auto ends = at_ends(x);
    if (!ends)
      return std::nullopt;
    auto best = interval(*ends);
    if (auto without = interval(without_divisions(*ends)); without && (!best || without->high < best->high))
      best = without;
    return best ? std::optional(best->high) : std::nullopt;
  }

  /// [rule.end.extent] x//d <= (n - 1)//d, k*(x//d) <= k*((n - 1)//d) where k > 0, d > 0, 0 <= x, x < n
  /// [rule.end.modulo] k*(x % y) <= k*(y - 1) where k > 0, y > 0
  /// [rule.end.quotient] x//y <= e//y, k*(x//y) <= k*(e//y) where k > 0, y > 0, x <= e
  /// [rule.end.range] k*x <= max(k*l, k*h) where l <= x, x <= h
  std::optional<Form> at_end(const Term &term) {
    auto [factor, digit] = term;
    if (is_of_sizes(digit.base))
      return Form{{term}, 0};
    const Var *var = digit.base.as<Var>();
    const Expr *extent = var ? bounds_.find_extent(*var) : nullptr;
    const auto *op = digit.base.as<Binary>();
    bool divides = op && is_index(op->a.dtype()) && is_of_sizes(op->b) && digit.div == 1 && digit.mod == 0 &&
                   is_positive(op->b);
    if (factor > 0 && digit.mod == 0 && extent)
      return scale(divide(sum(linearize(*extent), {{}, 1}, -1), digit.div), factor);
    if (factor > 0 && divides && op->op == BinaryOp::floormod)
      return scale(sum(linearize(op->b), {{}, 1}, -1), factor);
    if (factor > 0 && divides && op->op == BinaryOp::floordiv)
      if (auto end = at_ends(linearize(op->a)))
        return scale(linearize(floordiv(to_expr(*end), op->b)), factor);
    auto r = range(digit);
    std::int64_t most = 0;
    if (!r || __builtin_mul_overflow(factor > 0 ? r->high : r->low, factor, &most))
      return std::nullopt;
    return Form{{}, most};
  }

  bool is_positive(const Expr &e) {
    auto r = range(linearize(e));
    return r && r->low > 0;
  }

  /// At least x, which is of sizes.
  /// [rule.end.undivided] k*c*(y//c) <= k*y where k > 0, c > 0
  /// [rule.end.undivided_subtracted] k*c*(y//c) <= k*y - k*(c - 1) where k < 0, c > 0
  Form without_divisions(const Form &x) {
    Form result{{}, x.constant};
    for (const Term &term : x.terms) {
      auto [factor, digit] = term;
      if (digit.mod != 0 || digit.div == 1 || is_whole_size(digit) || factor % digit.div != 0) {
        result = sum(std::move(result), {{term}, 0}, 1);
        continue;
      }
      std::int64_t k = factor / digit.div;
      result = sum(std::move(result), scale(linearize(digit.base), k), 1);
      result.constant += k < 0 ? -k * (digit.div - 1) : 0;
    }
    return result;
  }

  /// [rule.range.quotient] l//d <= x//d, x//d <= h//d where d > 0, l <= x, x <= h
  /// [rule.range.same_turn] x//m = l//m, l % m <= x % m, x % m <= h % m
  ///     where m > 0, l <= x, x <= h, l//m = h//m
  /// [rule.range.remainder] 0 <= x % m, x % m <= m - 1 where m > 0
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

  /// [rule.range.min] min(a, b) <= min(x, y), min(x, y) <= min(c, d) where a <= x, x <= c, b <= y, y <= d
  /// [rule.range.max] max(a, b) <= max(x, y), max(x, y) <= max(c, d) where a <= x, x <= c, b <= y, y <= d
  /// [rule.range.mul] min(min(a*b, a*d), min(c*b, c*d)) <= x*y, x*y <= max(max(a*b, a*d), max(c*b, c*d))
  ///     where a <= x, x <= c, b <= y, y <= d
  /// [rule.range.xor] 0 <= x ^ y, x ^ y <= h where h & (h + 1) = 0, 0 <= x, x <= h, 0 <= y, y <= h
  /// [rule.range.shift] l >> s <= x >> s, x >> s <= h >> s where l <= x, x <= h, 0 <= s, s < 64
  /// [rule.range.by_sizes.negative] l//a < 0, l//a <= x//y where 0 < a, a <= y, l <= x, l < 0
  /// [rule.range.by_sizes.low] 0 <= l//b, l//b <= x//y where 0 < y, y <= b, l <= x, 0 <= l
  /// [rule.range.by_sizes.below_0] h//b < 0, x//y <= h//b where 0 < y, y <= b, x <= h, h < 0
  /// [rule.range.by_sizes.high] 0 <= h//a, x//y <= h//a where 0 < a, a <= y, x <= h, 0 <= h
  /// [rule.range.modulo_sizes] 0 <= x % y, x % y <= b - 1 where 0 < y, y <= b
  /// [rule.range.modulo_sizes.small] 0 <= x//y, x % y <= h where 0 < y, 0 <= x, x <= h
  /// [rule.range.select] min(a, b) <= select(q, x, y), select(q, x, y) <= max(c, d)
  ///     where a <= x, x <= c, b <= y, y <= d
  /// [rule.range.cast] (x + 2147483648) % 4294967296 - 2147483648 = x where x + 2147483648 >= 0, x < 2147483648
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
      if (op->op == BinaryOp::floordiv && b->low > 0)
        return Range{floor_div(a->low, a->low < 0 ? b->low : b->high),
                     floor_div(a->high, a->high < 0 ? b->high : b->low)};
      if (op->op == BinaryOp::floormod && b->low > 0)
        return Range{0, a->low < 0 ? b->high - 1 : std::min(a->high, b->high - 1)};
      if (op->op == BinaryOp::add || op->op == BinaryOp::sub)
        return range(linearize(base));
    }
    if (const auto *choice = base.as<Select>()) {
      auto a = range_of(choice->when_true, bounds_), b = range_of(choice->when_false, bounds_);
      if (a && b)
        return Range{std::min(a->low, b->low), std::max(a->high, b->high)};
    }
    if (const auto *conversion = base.as<Cast>(); conversion && is_index(conversion->a.dtype())) {
      auto r = range_of(conversion->a, bounds_);
      constexpr Range i32{std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
      bool kept = r && (conversion->dtype == DType::i64 || (i32.low <= r->low && r->high <= i32.high));
      return kept ? r : std::nullopt;
    }
    return std::nullopt;
  }

  /// Simplifies the operands only, which may leave something of another kind: min(3, 4).
  Form rest_of(const Expr &e) {
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

  /// Adds factor * e, term by term.
  void gather(const Expr &e, std::int64_t factor, Form &into) {
    const auto *op = e.as<Binary>();
    bool adds = op && (op->op == BinaryOp::add || op->op == BinaryOp::sub);
    auto multiplier = op && op->op == BinaryOp::mul ? as_int(op->b) : std::nullopt;
    if (factor == 0)
      return;
    if (auto value = as_int(e)) {
      into.constant += factor * *value;
    } else if (adds) {
      gather(op->a, factor, into);
      gather(op->b, op->op == BinaryOp::add ? factor : -factor, into);
    } else if (multiplier) {
      gather(op->a, factor * *multiplier, into);
    } else if (e.as<Var>()) {
      std::int64_t unit = unit_of(e);
      add(into, {factor * unit, {e, unit, 0}});
    } else {
      Form terms = linearize_term(e);
      for (Term &term : terms.terms)
        add(into, {factor * term.coefficient, std::move(term.digit)});
      into.constant += factor * terms.constant;
    }
  }

  Form atom(Expr e) { return {{{1, {std::move(e), 1, 0}}}, 0}; }

  Form scale(Form linear, std::int64_t factor) {
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

  Form sum(Form a, const Form &b, std::int64_t sign) {
    for (const Term &term : b.terms)
      add(a, {term.coefficient * sign, term.digit});
    a.constant += sign * b.constant;
    merge(a);
    return a;
  }

  void add(Form &linear, Term term) {
    for (auto it = linear.terms.begin(); it != linear.terms.end(); ++it)
      if (same_digit(it->digit, term.digit)) {
        it->coefficient += term.coefficient;
        if (it->coefficient == 0)
          linear.terms.erase(it);
        return;
      }
    linear.terms.push_back(std::move(term));
  }

  /// [rule.digits.join] x//d//m = x//(d*m), k*(x//d % m) + k*m*(x//(d*m)) = k*(x//d) where d > 0, m > 0
  /// [rule.digits.join_within] x//d//m = x//(d*m), x//d//(m*n) = x//(d*m)//n,
  ///     k*(x//d % m) + k*m*(x//(d*m) % n) = k*(x//d % (m*n)) where d > 0, m > 0, n > 0
  void merge(Form &linear) {
    bool changed = std::ranges::any_of(linear.terms, [](const Term &term) { return term.digit.mod != 0; });
    while (changed) {
      changed = false;
      for (std::size_t low = 0; low < linear.terms.size() && !changed; ++low)
        if (linear.terms[low].digit.mod != 0)
          for (std::size_t high = 0; high < linear.terms.size() && !changed; ++high)
            changed = merge(linear, low, high);
    }
  }
  bool merge(Form &linear, std::size_t low, std::size_t high) {
    const Term &first = linear.terms[low], &second = linear.terms[high];
    if (low == high || first.digit.mod == 0 || second.coefficient != first.coefficient * first.digit.mod ||
        second.digit.div != first.digit.div * first.digit.mod || !same(first.digit.base, second.digit.base))
      return false;
    Term a = first, b = second;
    linear.terms.erase(linear.terms.begin() + static_cast<std::ptrdiff_t>(std::max(low, high)));
    linear.terms.erase(linear.terms.begin() + static_cast<std::ptrdiff_t>(std::min(low, high)));
    Digit joined{a.digit.base, a.digit.div, b.digit.mod == 0 ? 0 : a.digit.mod * b.digit.mod};
    Form whole = joined.div == 1 && joined.mod == 0 ? linearize(joined.base) : Form{{{1, joined}}, 0};
    linear = sum(std::move(linear), scale(std::move(whole), a.coefficient), 1);
    return true;
  }

  /// x = c*quotient + rest, by coefficients.
  /// [rule.split.term] k*x = c*((k//c)*x) where c > 0, k % c = 0
  /// [rule.split.constant] n = c*(n//c) + n % c where c > 0
  static std::pair<Form, Form> split(const Form &x, std::int64_t c) {
    Form quotient, rest;
    for (const Term &term : x.terms)
      if (term.coefficient % c == 0)
        quotient.terms.push_back({term.coefficient / c, term.digit});
      else
        rest.terms.push_back(term);
    quotient.constant = floor_div(x.constant, c);
    rest.constant = floor_mod(x.constant, c);
    return {quotient, rest};
  }

  /// x = y*quotient + rest, by factors, where y is one term.
  std::pair<Form, Form> split(const Form &x, const Form &y) {
    const Term &unit = y.terms[0];
    Expr divisor = to_expr(y);
    Form quotient, rest{{}, x.constant};
    for (const Term &term : x.terms) {
      const auto *product = term.digit.base.as<Binary>();
      bool plain = product && product->op == BinaryOp::mul && term.digit.div == 1 && term.digit.mod == 0;
      if (same_digit(term.digit, unit.digit) && term.coefficient % unit.coefficient == 0)
        quotient.constant += term.coefficient / unit.coefficient;
      else if (plain && same(product->b, divisor))
        quotient = sum(std::move(quotient), scale(linearize(product->a), term.coefficient), 1);
      else if (plain && same(product->a, divisor))
        quotient = sum(std::move(quotient), scale(linearize(product->b), term.coefficient), 1);
      else
        rest.terms.push_back(term);
    }
    return {quotient, rest};
  }

  /// x // y and x % y where y > 0 is no constant; none where nothing can be taken out.
  /// [rule.sizes.decided] (y*q + r)//y = q + n, (y*q + r) % y = r - n*y where y > 0, n*y <= r, r < (n + 1)*y
  /// [rule.sizes.taken_out] (y*q + r)//y = q + r//y, (y*q + r) % y = r % y where y > 0
  std::optional<Form> divide(const Binary &e) {
    Form x = linearize(e.a), y = linearize(e.b);
    auto positive = range(y);
    if (y.terms.empty()) // it has become a constant
      return y.constant > 0
                 ? std::optional(e.op == BinaryOp::floordiv ? divide(x, y.constant) : modulo(x, y.constant))
                 : std::nullopt;
    if (!positive || positive->low < 1 || y.terms.size() != 1 || y.constant != 0)
      return std::nullopt;
    auto [quotient, rest] = split(x, y);
    auto in = [&](std::int64_t n) { // n*y <= rest < (n+1)*y
      auto low = range(sum(rest, y, -n)), high = range(sum(rest, y, -n - 1));
      return low && high && low->low >= 0 && high->high < 0;
    };
    for (std::int64_t n : {0, -1})
      if (in(n)) {
        quotient.constant += n;
        return e.op == BinaryOp::floordiv ? quotient : sum(std::move(rest), scale(y, -n), 1);
      }
    if (quotient.terms.empty() && quotient.constant == 0)
      return std::nullopt;
    Form left = atom(binary(e.op, to_expr(rest), to_expr(y)));
    return e.op == BinaryOp::floordiv ? sum(std::move(quotient), left, 1) : left;
  }

  /// A divisor g > 1 of c such that x = g*y + r with 0 <= r < g; gives y and r.
  std::optional<std::pair<Form, Form>> common_factor(const Form &x, std::int64_t c, std::int64_t &factor) {
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
  /// [rule.divide.decided] (c*q + r)//c = q + n where c > 0, n*c <= r, r < (n + 1)*c
  /// [rule.divide.common] (g*y + r)//(g*c) = y//c where g > 0, c > 0, 0 <= r, r < g
  /// [rule.divide.taken_out] (c*q + r)//c = q + r//c where c > 0
  Form divide(const Form &x, std::int64_t c) {
    if (c == 1)
      return x;
    auto [quotient, rest] = split(x, c);
    if (auto r = range(rest); r && floor_div(r->low, c) == floor_div(r->high, c)) {
      quotient.constant += floor_div(r->low, c);
      return quotient;
    }
    std::int64_t g = 1;
    if (auto parts = common_factor(rest, c, g))
      return sum(std::move(quotient), divide(parts->first, c / g), 1);
    return sum(std::move(quotient), digit_of(rest, c, 0), 1);
  }

  /// x % c
  /// [rule.modulo.decided] (c*q + r)//c = q + n, (c*q + r) % c = r - n*c where c > 0, n*c <= r, r < (n + 1)*c
  /// [rule.modulo.common] (g*y + r)//(g*c) = y//c, (g*y + r) % (g*c) = g*(y % c) + r
  ///     where g > 0, c > 0, 0 <= r, r < g
  /// [rule.modulo.taken_out] (c*q + r)//c = q + r//c, (c*q + r) % c = r % c where c > 0
  Form modulo(const Form &x, std::int64_t c) {
    Form rest = split(x, c).second;
    if (auto r = range(rest); r && floor_div(r->low, c) == floor_div(r->high, c)) {
      rest.constant -= c * floor_div(r->low, c);
      return rest;
    }
    std::int64_t g = 1;
    if (auto parts = common_factor(rest, c, g))
      return sum(scale(modulo(parts->first, c / g), g), parts->second, 1);
    return digit_of(rest, 1, c);
  }

  /// rest // div % mod as one digit, through a digit that rest may already be:
  /// [rule.digit.quotient] x//d//c = x//(d*c) where d > 0, c > 0
  /// [rule.digit.middle] x//d//c = x//(d*c), x//d//(c*m) = x//(d*c)//m, x//d % (c*m)//c = x//(d*c) % m
  ///     where d > 0, c > 0, m > 0
  /// [rule.digit.low] x//d % (c*m)//c = x//d//c - m*(x//d//(c*m)), x//d % (c*m) % c = x//d % c
  ///     where d > 0, c > 0, m > 0
  /// [rule.digit.expand] x//d = (u*x)//(u*d) where u > 0, d > 0
  Form digit_of(const Form &rest, std::int64_t div, std::int64_t mod) {
    if (rest.terms.size() == 1 && rest.terms[0].coefficient == 1 && rest.constant == 0) {
      const Digit &inner = rest.terms[0].digit;
      if (inner.mod == 0 && mod == 0 && is_whole_size(inner))
        return one({inner.base, inner.div * div, 0});
      if (inner.mod == 0 && mod == 0 && inner.div != 1)
        return divide(linearize(inner.base), inner.div * div);
      if (inner.mod == 0)
        return one({inner.base, inner.div * div, mod});
      if (inner.mod % div == 0 && mod == 0)
        return modulo(divide(linearize(inner.base), inner.div * div), inner.mod / div);
      if (div == 1 && inner.mod % mod == 0)
        return one({inner.base, inner.div, mod});
    }
    if (mod == 0) // (M//2 + 63) // 64 reads better as (M + 126) // 128
      for (const Term &term : rest.terms)
        if (is_whole_size(term.digit) && term.coefficient % term.digit.div != 0)
          return one({to_expr(scale(rest, term.digit.div)), div * term.digit.div, 0});
    return one({to_expr(rest), div, mod});
  }

  /// A digit whose range is a single value is that value.
  /// [rule.digit.whole] x//m = 0, x % m = x where m > 0, 0 <= x, x < m
  Form one(Digit digit) {
    if (auto r = range(digit); r && r->low == r->high)
      return {{}, r->low};
    if (digit.mod != 0)
      if (auto r = range(Digit{digit.base, digit.div, 0}); r && r->low >= 0 && r->high < digit.mod)
        digit.mod = 0;
    return {{{1, std::move(digit)}}, 0};
  }

  /// [rule.compare.lt] x < y where x - y < 0
  /// [rule.compare.not_lt] y <= x where 0 <= x - y
  /// [rule.compare.le] x <= y where x - y <= 0
  /// [rule.compare.not_le] y < x where 0 < x - y
  /// [rule.compare.eq] x = y where x - y <= 0, 0 <= x - y
  /// [rule.compare.above] x != y where 0 < x - y
  /// [rule.compare.below] x != y where x - y < 0
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

/// The term as it is written.
/// [rule.size.whole] M//u = g*(M//(u*g)), k*g*(M//(u*g)) = k*(M//u) where u > 0, g > 0, M % (u*g) = 0
static Term in_lowest_terms(Term term) {
  if (is_whole_size(term.digit)) {
    std::int64_t g = std::gcd(term.coefficient, term.digit.div);
    term.coefficient /= g;
    term.digit.div /= g;
  }
  return term;
}

static bool comes_before(const Term &a, const Term &b) {
  Term x = in_lowest_terms(a), y = in_lowest_terms(b);
  return x.coefficient != y.coefficient
             ? x.coefficient > y.coefficient
             : to_string(to_expr(x.digit, DType::i64)) < to_string(to_expr(y.digit, DType::i64));
}

/// Larger coefficients first, then by spelling: equal sums come out in the same order.
static llvm::SmallVector<const Term *, 8> ordered(llvm::ArrayRef<Term> terms) {
  llvm::SmallVector<const Term *, 8> result;
  for (const Term &term : terms)
    result.insert(std::upper_bound(result.begin(), result.end(), &term,
                                   [](const Term *a, const Term *b) { return comes_before(*a, *b); }),
                  &term);
  return result;
}

void Bounds::set_extent(const Var &var, const Expr &extent) {
  if (auto value = as_int(extent))
    return set(var, {0, *value - 1});
  extents_[var] = extent;
  if (auto range = range_of(extent, {}))
    set(var, {0, range->high - 1});
}

void Bounds::set(const Var &var, Range range) {
  for (auto &[known, its_range] : ranges_)
    if (known == var) {
      its_range = range;
      return;
    }
  ranges_.emplace_back(var, range);
}

/// [rule.size.range] -(-l//u) <= M//u, M//u <= h//u, u*(-(-l//u)) <= M, M <= u*(h//u)
///     where u > 0, M % u = 0, l <= M, M <= h
std::optional<Range> Bounds::find(const Var &var) const {
  for (const auto &[known, range] : ranges_)
    if (known == var)
      return range;
  if (!var->size)
    return std::nullopt;
  std::int64_t unit = var->size->multiple_of;
  return Range{-floor_div(-var->size->min, unit) * unit, floor_div(var->size->max, unit) * unit};
}

Linear linearize(const Expr &e, const Bounds &bounds) {
  Form form = Rewriter(bounds).linearize(e);
  Linear linear{{}, form.constant};
  linear.terms.reserve(form.terms.size());
  for (const Term *term : ordered(form.terms))
    linear.terms.push_back(*term);
  AnswerWatcher::show([&](AnswerWatcher &watcher) { watcher.simplified(e, to_expr(linear), bounds); });
  return linear;
}

static Expr to_expr(llvm::ArrayRef<Term> terms, std::int64_t constant, DType dtype) {
  Expr result;
  for (const Term *term : ordered(terms)) {
    auto [coefficient, factor] = in_lowest_terms(*term);
    Expr digit = to_expr(factor, dtype);
    if (!result.exists())
      result = digit * int_imm(coefficient, dtype);
    else if (coefficient < 0)
      result = result - digit * int_imm(-coefficient, dtype);
    else
      result = result + digit * int_imm(coefficient, dtype);
  }
  if (!result.exists())
    return int_imm(constant, dtype);
  return constant < 0 ? result - int_imm(-constant, dtype) : result + int_imm(constant, dtype);
}

namespace {
Expr to_expr(const Form &form, DType dtype) { return nestsmith::to_expr(form.terms, form.constant, dtype); }
} // namespace

Expr to_expr(const Linear &linear, DType dtype) { return to_expr(linear.terms, linear.constant, dtype); }

Expr simplify(const Expr &e, const Bounds &bounds) {
  Expr result = Rewriter(bounds).simplify(e);
  AnswerWatcher::show([&](AnswerWatcher &watcher) { watcher.simplified(e, result, bounds); });
  return result;
}

std::optional<Range> range_of(const Expr &e, const Bounds &bounds) {
  auto range = Rewriter(bounds).range(e);
  if (range)
    AnswerWatcher::show([&](AnswerWatcher &watcher) { watcher.bounded(e, *range, bounds); });
  return range;
}

std::optional<Range> range_of(const Linear &linear, const Bounds &bounds) {
  auto range = Rewriter(bounds).range(Form(linear));
  if (range)
    AnswerWatcher::show([&](AnswerWatcher &watcher) { watcher.bounded(to_expr(linear), *range, bounds); });
  return range;
}

std::optional<Range> range_of(const Digit &digit, const Bounds &bounds) {
  Form form{{{1, digit}}, 0};
  auto range = Rewriter(bounds).range(form);
  if (range)
    AnswerWatcher::show([&](AnswerWatcher &watcher) { watcher.bounded(to_expr(form), *range, bounds); });
  return range;
}

std::optional<Expr> highest(const Expr &e, const Bounds &bounds) {
  Rewriter rewriter(bounds);
  Form form = rewriter.linearize(e);
  std::optional<Expr> most;
  if (rewriter.depends_on_sizes(form)) {
    if (auto ends = rewriter.at_ends(form))
      most = to_expr(*ends);
  } else if (auto range = rewriter.range(form))
    most = Expr(range->high);
  if (most)
    AnswerWatcher::show([&](AnswerWatcher &watcher) { watcher.at_most(e, *most, bounds); });
  return most;
}

bool proves(const Expr &condition, const Bounds &bounds) { return is_true(simplify(condition, bounds)); }

} // namespace nestsmith
