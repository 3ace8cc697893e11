#include "dsl/expr/index_rewriter.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace nestsmith {

/// The largest constant by which this code divides. A dividend gets a constant of up to c - 1 added. For larger
/// divisors c, the sum may overflow.
static constexpr std::int64_t largest_divisor = std::int64_t{1} << 61;

std::optional<std::int64_t> product_in(DType dtype, std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  bool fits = !__builtin_mul_overflow(a, b, &product) &&
              (dtype != DType::i32 || product <= std::numeric_limits<std::int32_t>::max());
  return fits ? std::optional(product) : std::nullopt;
}

/// Splits x into c*quotient + rest. A term goes to the quotient if c divides its coefficient.
/// [rule.split.term] k*x = c*((k//c)*x) where c > 0, k % c = 0
/// [rule.split.constant] n = c*(n//c) + n % c where c > 0
std::pair<LinearForm, LinearForm> IndexRewriter::split(const LinearForm &x, std::int64_t c) {
  LinearForm quotient, rest;
  for (const Term &term : x.terms)
    if (term.coefficient % c == 0)
      quotient.terms.push_back({term.coefficient / c, term.digit});
    else
      rest.terms.push_back(term);
  quotient.constant = floor_div(x.constant, c);
  rest.constant = floor_mod(x.constant, c);
  return {std::move(quotient), std::move(rest)};
}

/// Splits x into y*quotient + rest. A term goes to the quotient if y is one of its factors or, if y has several
/// terms, if it is a multiple of the first one. A product of data is split only if it cannot wrap around.
std::pair<LinearForm, LinearForm> IndexRewriter::split(const LinearForm &x, const LinearForm &y) {
  const Term &unit = y.terms[0], written = in_lowest_terms(unit);
  const Expr divisor = to_expr(y), factor = to_expr(Linear{{{1, written.digit}}, 0});
  const bool alone = y.terms.size() == 1 && y.constant == 0;
  LinearForm quotient, rest{{}, x.constant};
  std::int64_t multiple = 0; // of the first term of y
  for (const Term &term : x.terms) {
    const auto *product = term.digit.base.as<Binary>();
    bool plain = product && product->op == BinaryOp::mul && term.digit.is_base() &&
                 (!term.digit.base.node().data || range(term.digit));
    if (same_digit(term.digit, unit.digit) && term.coefficient % unit.coefficient == 0)
      multiple = term.coefficient / unit.coefficient;
    else if (plain && same(product->b, divisor))
      quotient = sum(std::move(quotient), scale(linearize(product->a), term.coefficient), 1);
    else if (plain && same(product->a, divisor))
      quotient = sum(std::move(quotient), scale(linearize(product->b), term.coefficient), 1);
    else if (alone && plain && written.coefficient > 1 && term.coefficient % written.coefficient == 0 &&
             (same(product->a, factor) || same(product->b, factor)))
      quotient = sum(std::move(quotient),
                     scale(linearize(same(product->a, factor) ? product->b : product->a),
                           term.coefficient / written.coefficient),
                     1);
    else
      rest.terms.push_back(term);
  }
  quotient = sum(std::move(quotient), {{}, multiple}, 1);
  if (!alone && multiple != 0) {
    LinearForm others = y;
    others.terms.erase(others.terms.begin());
    rest = sum(std::move(rest), scale(std::move(others), multiple), -1);
  }
  return {std::move(quotient), std::move(rest)};
}

/// Simplifies x // y or x % y for a positive y that is not a constant. Returns none if no multiple of y can be
/// separated from x.
/// [rule.sizes.decided] (y*q + r)//y = q + n, (y*q + r) % y = r - n*y where y > 0, n*y <= r, r < (n + 1)*y
/// [rule.sizes.taken_out] (y*q + r)//y = q + r//y, (y*q + r) % y = r % y where y > 0
std::optional<LinearForm> IndexRewriter::divide(const Binary &e) {
  LinearForm x = linearize(e.a), y = linearize(e.b);
  if (may_wrap(x) || may_wrap(y))
    return std::nullopt;
  auto positive = range(y);
  if (y.terms.empty()) // it has become a constant
    return y.constant > 0
               ? std::optional(e.op == BinaryOp::floordiv ? divide(x, y.constant) : modulo(x, y.constant))
               : std::nullopt;
  const bool alone = y.terms.size() == 1 && y.constant == 0;
  if (!positive || positive->low < 1 ||
      (!alone && (y.terms[0].coefficient < 1 || !is_of_sizes(y.terms[0].digit.base))))
    return std::nullopt;
  auto [quotient, rest] = split(x, y);
  if (may_wrap(rest))
    return std::nullopt;
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
  LinearForm left = atom(binary(e.op, to_expr(rest), to_expr(y)));
  return e.op == BinaryOp::floordiv ? sum(std::move(quotient), left, 1) : left;
}

/// Finds a divisor g > 1 of c such that x = g*y + r with 0 <= r < g. Returns y and r, and sets `factor` to g.
std::optional<std::pair<LinearForm, LinearForm>>
IndexRewriter::common_factor(const LinearForm &x, std::int64_t c, std::int64_t &factor) {
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

/// Whether the quotient of `split` is not 0.
bool IndexRewriter::has_quotient(const LinearForm &x, std::int64_t c) {
  return x.constant < 0 || x.constant >= c ||
         std::ranges::any_of(x.terms, [c](const Term &term) { return term.coefficient % c == 0; });
}

/// Simplifies x // c.
/// [rule.divide.decided] (c*q + r)//c = q + n where c > 0, n*c <= r, r < (n + 1)*c
/// [rule.divide.common] (g*y + r)//(g*c) = y//c where g > 0, c > 0, 0 <= r, r < g
/// [rule.divide.taken_out] (c*q + r)//c = q + r//c where c > 0
LinearForm IndexRewriter::divide(const LinearForm &x, std::int64_t c) {
  if (c == 1)
    return x;
  if (c > largest_divisor || may_wrap(x))
    return digit_of(atom(to_expr(x)), c, 0);
  if (!has_quotient(x, c))
    return divide_rest(x, c);
  auto [quotient, rest] = split(x, c);
  if (may_wrap(rest))
    return digit_of(atom(to_expr(x)), c, 0);
  return sum(std::move(quotient), divide_rest(rest, c), 1);
}

LinearForm IndexRewriter::divide_rest(const LinearForm &rest, std::int64_t c) {
  if (auto r = range(rest); r && floor_div(r->low, c) == floor_div(r->high, c))
    return {{}, floor_div(r->low, c)};
  std::int64_t g = 1;
  if (auto parts = common_factor(rest, c, g))
    return divide(parts->first, c / g);
  return digit_of(rest, c, 0);
}

/// Simplifies x % c.
/// [rule.modulo.decided] (c*q + r)//c = q + n, (c*q + r) % c = r - n*c where c > 0, n*c <= r, r < (n + 1)*c
/// [rule.modulo.common] (g*y + r)//(g*c) = y//c, (g*y + r) % (g*c) = g*(y % c) + r
///     where g > 0, c > 0, 0 <= r, r < g
/// [rule.modulo.taken_out] (c*q + r)//c = q + r//c, (c*q + r) % c = r % c where c > 0
LinearForm IndexRewriter::modulo(const LinearForm &x, std::int64_t c) {
  if (c > largest_divisor || may_wrap(x))
    return digit_of(atom(to_expr(x)), 1, c);
  if (!has_quotient(x, c))
    return modulo_rest(x, c);
  LinearForm rest = split(x, c).second;
  return may_wrap(rest) ? digit_of(atom(to_expr(x)), 1, c) : modulo_rest(std::move(rest), c);
}

LinearForm IndexRewriter::modulo_rest(LinearForm rest, std::int64_t c) {
  if (auto r = range(rest); r && floor_div(r->low, c) == floor_div(r->high, c)) {
    rest.constant -= c * floor_div(r->low, c);
    return rest;
  }
  std::int64_t g = 1;
  if (auto parts = common_factor(rest, c, g))
    return sum(scale(modulo(parts->first, c / g), g), parts->second, 1);
  return digit_of(rest, 1, c);
}

/// Returns rest // div % mod as one digit. If `rest` is a digit, merges the two digits by these rules:
/// [rule.digit.quotient] x//d//c = x//(d*c) where d > 0, c > 0
/// [rule.digit.middle] x//d//c = x//(d*c), x//d//(c*m) = x//(d*c)//m, x//d % (c*m)//c = x//(d*c) % m
///     where d > 0, c > 0, m > 0
/// [rule.digit.low] x//d % (c*m)//c = x//d//c - m*(x//d//(c*m)), x//d % (c*m) % c = x//d % c
///     where d > 0, c > 0, m > 0
/// [rule.digit.expand] x//d = (u*x)//(u*d) where u > 0, d > 0
LinearForm IndexRewriter::digit_of(const LinearForm &rest, std::int64_t div, std::int64_t mod) {
  if (rest.terms.size() == 1 && rest.terms[0].coefficient == 1 && rest.constant == 0) {
    const Digit &inner = rest.terms[0].digit;
    if (div != 1 && !product_in(inner.base.dtype(), inner.div, div))
      return one({to_expr(rest), div, mod});
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

/// Returns a digit as a linear form: a constant if the range of the digit contains a single value.
/// [rule.digit.whole] x//m = 0, x % m = x where m > 0, 0 <= x, x < m
LinearForm IndexRewriter::one(Digit digit) {
  digit.base = interned(std::move(digit.base));
  auto of_base = range(Digit{digit.base, 1, 0});
  if (auto r = range(digit, of_base); r && r->low == r->high)
    return {{}, r->low};
  if (digit.mod != 0)
    if (auto r = range(Digit{{}, digit.div, 0}, of_base); r && r->low >= 0 && r->high < digit.mod)
      digit.mod = 0;
  return {{{1, std::move(digit)}}, 0};
}

} // namespace nestsmith
