#include "dsl/expr/index_rewriter.h"

#include "dsl/expr/error.h"
#include "dsl/expr/numbers.h"
#include "dsl/expr/watch_answers.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace nestsmith {

static std::optional<Range> range_of_product(Range a, Range b) {
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

/// Converts the range of an exact sum or product to the range of its value. Returns none if the range exceeds
/// that of the type, because the value may then wrap around.
static std::optional<Range> within(DType dtype, std::optional<Range> range) {
  Range all{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  if (dtype == DType::boolean)
    all = {0, 1};
  else if (dtype == DType::u64)
    all.low = 0;
  else if (!is_float(dtype) && dtype != DType::i64)
    all = with_number(dtype, []<class T>() -> Range {
      if constexpr (std::is_integral_v<T> && sizeof(T) < 8)
        return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
      internal_error("a number of another dtype");
    });
  bool inside = range && all.low <= range->low && range->high <= all.high;
  return inside ? range : std::nullopt;
}

std::optional<Range> rough_range(const Expr &e, FunctionRef<std::optional<Range>(const Var &)> of_var) {
  if (!is_index(e.dtype()) || e.node().data || e.node().size > 64)
    return std::nullopt;
  if (auto value = as_int(e))
    return Range{*value, *value};
  if (const Var *var = e.as<Var>())
    return of_var(*var);
  const auto *op = e.as<Binary>();
  if (!op)
    return std::nullopt;
  auto a = rough_range(op->a, of_var), b = rough_range(op->b, of_var);
  if (!a || !b)
    return std::nullopt;
  Range result{0, 0};
  switch (op->op) {
  case BinaryOp::add:
    return __builtin_add_overflow(a->low, b->low, &result.low) ||
                   __builtin_add_overflow(a->high, b->high, &result.high)
               ? std::nullopt
               : std::optional(result);
  case BinaryOp::sub:
    return __builtin_sub_overflow(a->low, b->high, &result.low) ||
                   __builtin_sub_overflow(a->high, b->low, &result.high)
               ? std::nullopt
               : std::optional(result);
  case BinaryOp::mul:
    return range_of_product(*a, *b);
  case BinaryOp::floordiv:
    return b->low == b->high && b->low > 0
               ? std::optional(Range{floor_div(a->low, b->low), floor_div(a->high, b->low)})
               : std::nullopt;
  case BinaryOp::floormod:
    return b->low > 0 ? std::optional(Range{0, a->low < 0 ? b->high - 1 : std::min(a->high, b->high - 1)})
                      : std::nullopt;
  default:
    return std::nullopt;
  }
}

std::optional<Range> rough_range(const Expr &e, const Bounds &bounds) {
  auto range = rough_range(e, [&](const Var &var) { return bounds.find(var); });
  if (range)
    AnswerWatcher::show([&](AnswerWatcher &watcher) { watcher.bounded(e, *range, bounds); });
  return range;
}

/// Whether neither the sum nor the difference of two such forms overflows, nor that of a form and 1.
static bool is_small(const LinearForm &x) {
  constexpr std::int64_t most = std::int64_t{1} << 61;
  auto small = [](std::int64_t n) { return -most <= n && n <= most; };
  return small(x.constant) &&
         std::ranges::all_of(x.terms, [&](const Term &term) { return small(term.coefficient); });
}

/// Returns factor * x, or none if the result overflows or is not small.
static std::optional<LinearForm> small_multiple(LinearForm x, std::int64_t factor) {
  auto multiply = [factor](std::int64_t &n) { return __builtin_mul_overflow(n, factor, &n); };
  bool overflows = multiply(x.constant);
  for (Term &term : x.terms)
    overflows |= multiply(term.coefficient);
  return overflows || !is_small(x) ? std::nullopt : std::optional(std::move(x));
}

std::optional<Range> IndexRewriter::range(const Expr &e) {
  bool wraps = e.dtype() == DType::u32 || e.dtype() == DType::u64; // the terms of a sum may cancel
  if (auto value = as_int(e)) {
    Range one{*value, *value};
    return wraps ? within(e.dtype(), one) : one; // a u64 from 2^63 on is negative as i64
  }
  const Var *var = e.as<Var>();
  auto result = var && !(*var)->size ? bounds_.find(*var) : range(linearize(e));
  return wraps ? within(e.dtype(), result) : result;
}

std::optional<Range> IndexRewriter::operand_range(const Expr &e) {
  return ranges_(e, [&] {
    auto result = range(e);
    if (result)
      AnswerWatcher::show([&](AnswerWatcher &watcher) { watcher.bounded(e, *result, bounds_); });
    return result;
  });
}

/// Returns the intersection of two ranges. The first is the sum of the ranges of the terms. The second is
/// computed only if sizes occur: variables are replaced by the ends of their extents, and then the sizes
/// cancel. It proves i - M < 0 where i runs over M, and i//M < 8 where i runs over 8*M.
std::optional<Range> IndexRewriter::range(const LinearForm &linear) {
  auto result = interval(linear);
  bool is_variable = linear.terms.size() == 1 && linear.terms[0].digit.base.as<Var>();
  bool wraps = !result && has_data(linear); // the ends bound the sum without bounds, not its value
  if (is_variable || wraps || !is_small(linear) || !depends_on_sizes(linear))
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

/// [rule.interval.term] n + k*l <= n + k*x, n + k*x <= n + k*h where k >= 0, l <= x, x <= h
/// [rule.interval.subtracted] n + k*h <= n + k*x, n + k*x <= n + k*l where k < 0, l <= x, x <= h
std::optional<Range> IndexRewriter::interval(const LinearForm &linear) {
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
  return linear.terms.empty() ? total : within(linear.terms[0].digit.base.dtype(), total);
}

/// Returns an upper bound of x. Each variable whose extent is an expression of sizes is replaced by its last
/// value if its factor is positive. Terms of sizes alone are kept. Each other term is replaced by its largest
/// value.
std::optional<LinearForm> IndexRewriter::at_ends(const LinearForm &x) {
  LinearForm result{{}, x.constant};
  for (const Term &term : x.terms) {
    auto end = at_end(term);
    if (!end || !is_small(*end) || !is_small(result))
      return std::nullopt;
    result = sum(std::move(result), *end, 1);
  }
  return result;
}

bool IndexRewriter::depends_on_sizes(const LinearForm &x) const {
  return std::any_of(x.terms.begin(), x.terms.end(), [&](const Term &term) {
    return uses_size(term.digit.base) ||
           (bounds_.has_extents() && any_node(term.digit.base, [&](const Expr &e) {
              const Var *var = e.as<Var>();
              return var && bounds_.find_extent(*var);
            }));
  });
}

std::optional<std::int64_t> IndexRewriter::highest_constant(const LinearForm &x) {
  auto ends = at_ends(x);
  if (!ends)
    return std::nullopt;
  auto best = interval(*ends);
  for (int sign : {0, -1, 1}) // what remains of one division may cancel another one
    if (auto without = interval(without_divisions(*ends, sign));
        without && (!best || without->high < best->high))
      best = without;
  return best ? std::optional(best->high) : std::nullopt;
}

/// [rule.end.extent] x//d <= (n - 1)//d, k*(x//d) <= k*((n - 1)//d) where k > 0, d > 0, 0 <= x, x < n
/// [rule.end.modulo] k*(x % y) <= k*(y - 1) where k > 0, y > 0
/// [rule.end.quotient] x//y <= e//y, x//y//d <= e//y//d, k*(x//y//d) <= k*(e//y//d)
///     where k > 0, y > 0, d > 0, x <= e
/// [rule.end.product] x*y <= e*y, k*(x*y) <= k*(e*y) where k > 0, y > 0, x <= e
/// [rule.end.range] k*x <= max(k*l, k*h) where l <= x, x <= h
std::optional<LinearForm> IndexRewriter::at_end(const Term &term) {
  auto [factor, digit] = term;
  if (is_of_sizes(digit.base))
    return LinearForm{{term}, 0};
  const Var *var = digit.base.as<Var>();
  const Expr *extent = var ? bounds_.find_extent(*var) : nullptr;
  const auto *op = digit.base.as<Binary>();
  bool divides = op && is_index(op->a.dtype()) && is_of_sizes(op->b) && digit.mod == 0 && is_positive(op->b);
  if (factor > 0 && digit.mod == 0 && extent)
    return small_multiple(divide(sum(linearize(*extent), {{}, 1}, -1), digit.div), factor);
  if (factor > 0 && divides && digit.is_base() && op->op == BinaryOp::floormod)
    return small_multiple(sum(linearize(op->b), {{}, 1}, -1), factor);
  // Each level of a nested quotient or product would be searched several times.
  constexpr std::uint64_t most_nodes = 12;
  auto is_short = [](const Expr &e) { return e.node().size <= most_nodes; };
  if (factor > 0 && divides && op->op == BinaryOp::floordiv && (digit.is_base() || is_short(op->a)) &&
      !may_wrap(linearize(op->a)))
    if (auto end = at_ends(linearize(op->a)))
      return small_multiple(divide(linearize(floordiv(to_expr(*end), op->b)), digit.div), factor);
  if (factor > 0 && digit.is_base() && op && op->op == BinaryOp::mul && is_index(op->a.dtype()))
    for (const auto &[of_sizes, other] : {std::pair(op->a, op->b), std::pair(op->b, op->a)})
      if (is_short(other) && is_of_sizes(of_sizes) && is_positive(of_sizes) && !may_wrap(linearize(other)))
        if (auto end = at_ends(linearize(other)))
          return small_multiple(linearize(to_expr(*end) * of_sizes), factor);
  auto r = range(digit);
  std::int64_t most = 0;
  if (!r || __builtin_mul_overflow(factor > 0 ? r->high : r->low, factor, &most))
    return std::nullopt;
  return LinearForm{{}, most};
}

bool IndexRewriter::is_positive(const Expr &e) {
  auto r = range(linearize(e));
  return r && r->low > 0;
}

/// The upper bound of a multiple of x//y*y by rule.end.multiple and rule.end.multiple_subtracted; none for
/// other terms.
std::optional<LinearForm> IndexRewriter::without_multiple(const Term &term) {
  const auto *product = term.digit.is_base() ? term.digit.base.as<Binary>() : nullptr;
  if (!product || product->op != BinaryOp::mul)
    return std::nullopt;
  for (const auto &[quotient, size] : {std::pair(product->a, product->b), std::pair(product->b, product->a)}) {
    const auto *division = quotient.as<Binary>();
    if (!division || division->op != BinaryOp::floordiv || !same(division->b, size) || !is_positive(size))
      continue;
    const LinearForm divided = linearize(division->a);
    if (may_wrap(divided))
      continue;
    const LinearForm rest = sum(linearize(size), {{}, 1}, -1);
    return small_multiple(term.coefficient > 0 ? divided : sum(divided, rest, -1), term.coefficient);
  }
  return std::nullopt;
}

/// Returns an upper bound of x, a form of sizes, in which divisions are replaced by their operands: in all
/// terms, or only in those that are added (sign 1) or subtracted (-1).
///
/// [rule.end.undivided] k*c*(y//c) <= k*y where k > 0, c > 0
/// [rule.end.undivided_subtracted] g*y//(g*c) = y//c, k*c*(y//c) <= k*y - k*(c - 1),
///     g*(k*c*(g*y//(g*c))) <= g*(k*y - k*(c - 1)) where k < 0, c > 0, g > 0
/// [rule.end.multiple] x//y*y <= x, k*(x//y*y) <= k*x where k > 0, y > 0
/// [rule.end.multiple_subtracted] x - (y - 1) <= x//y*y, k*(x//y*y) <= k*x - k*(y - 1) where k < 0, y > 0
LinearForm IndexRewriter::without_divisions(const LinearForm &x, int sign) {
  LinearForm result{{}, x.constant};
  for (const Term &term : x.terms) {
    auto [factor, digit] = term;
    if (sign != 0 && (factor < 0) != (sign < 0)) {
      result = sum(std::move(result), {{term}, 0}, 1);
      continue;
    }
    if (std::optional<LinearForm> bound = without_multiple(term)) {
      result = sum(std::move(result), *bound, 1);
      continue;
    }
    bool divided = digit.mod == 0 && digit.div != 1 && !is_whole_size(digit) && factor % digit.div == 0;
    auto multiple =
        divided ? small_multiple(linearize(digit.base), factor / digit.div) : std::optional<LinearForm>();
    if (!multiple) {
      result = sum(std::move(result), {{term}, 0}, 1);
      continue;
    }
    std::int64_t k = factor / digit.div;
    LinearForm undivided = linearize(digit.base);
    std::int64_t g = std::gcd(digit.div, undivided.constant); // divides the value of the base, and the divisor
    for (const Term &each : undivided.terms)
      g = std::gcd(g, each.coefficient);
    result.constant += k < 0 ? -k * (digit.div - g) : 0;
    result = sum(std::move(result), *multiple, 1);
  }
  return result;
}

std::optional<Range> IndexRewriter::range(const Digit &digit) {
  return range(digit, base_ranges_(digit.base, [&] { return base_range(digit.base); }));
}

/// Returns the range of the digit. `r` is the range of its base.
/// [rule.range.quotient] l//d <= x//d, x//d <= h//d where d > 0, l <= x, x <= h
/// [rule.range.same_turn] x//m = l//m, l % m <= x % m, x % m <= h % m
///     where m > 0, l <= x, x <= h, l//m = h//m
/// [rule.range.remainder] 0 <= x % m, x % m <= m - 1 where m > 0
std::optional<Range> IndexRewriter::range(const Digit &digit, std::optional<Range> r) {
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
/// [rule.range.by_sizes.negative] l//a < 0, l//a <= x//y where 0 < a, a <= y, l <= x, l < 0
/// [rule.range.by_sizes.low] 0 <= l//b, l//b <= x//y where 0 < y, y <= b, l <= x, 0 <= l
/// [rule.range.by_sizes.below_0] h//b < 0, x//y <= h//b where 0 < y, y <= b, x <= h, h < 0
/// [rule.range.by_sizes.high] 0 <= h//a, x//y <= h//a where 0 < a, a <= y, x <= h, 0 <= h
/// [rule.range.modulo_sizes] 0 <= x % y, x % y <= b - 1 where 0 < y, y <= b
/// [rule.range.modulo_sizes.small] 0 <= x//y, x % y <= h where 0 < y, 0 <= x, x <= h
/// [rule.range.select] min(a, b) <= select(q, x, y), select(q, x, y) <= max(c, d)
///     where a <= x, x <= c, b <= y, y <= d
/// [rule.range.cast] (x + 2147483648) % 4294967296 - 2147483648 = x where x + 2147483648 >= 0, x < 2147483648
std::optional<Range> IndexRewriter::base_range(const Expr &base) {
  if (const Var *var = base.as<Var>())
    return bounds_.find(*var);
  if (const auto *op = base.as<Binary>())
    return binary_range(base, *op);
  if (const auto *choice = base.as<Select>()) {
    auto a = operand_range(choice->when_true), b = operand_range(choice->when_false);
    if (a && b)
      return Range{std::min(a->low, b->low), std::max(a->high, b->high)};
  }
  if (const auto *conversion = base.as<Cast>()) {
    const auto *op = conversion->a.as<Binary>();
    bool of_bits = op && is_bitwise(op->op); // also of u32 and u64, whose sums wrap around
    if (!is_float(conversion->dtype) && (is_index(conversion->a.dtype()) || of_bits)) // a float may be rounded
      return within(conversion->dtype, operand_range(conversion->a));
  }
  return std::nullopt;
}

std::optional<Range> IndexRewriter::binary_range(const Expr &base, const Binary &op) {
  if (op.op == BinaryOp::add || op.op == BinaryOp::sub)
    return range(linearize(base));
  if (is_bitwise(op.op))
    return range_of_bits(op.op, base.dtype(), operand_range(op.a), operand_range(op.b));
  auto a = operand_range(op.a), b = operand_range(op.b);
  if (!a || !b)
    return std::nullopt;
  switch (op.op) {
  case BinaryOp::min:
    return Range{std::min(a->low, b->low), std::min(a->high, b->high)};
  case BinaryOp::max:
    return Range{std::max(a->low, b->low), std::max(a->high, b->high)};
  case BinaryOp::mul:
    return within(base.dtype(), range_of_product(*a, *b));
  case BinaryOp::floordiv:
    if (b->low <= 0)
      return std::nullopt;
    return Range{floor_div(a->low, a->low < 0 ? b->low : b->high),
                 floor_div(a->high, a->high < 0 ? b->high : b->low)};
  case BinaryOp::floormod:
    if (b->low <= 0)
      return std::nullopt;
    return Range{0, a->low < 0 ? b->high - 1 : std::min(a->high, b->high - 1)};
  default:
    return std::nullopt;
  }
}

} // namespace nestsmith
