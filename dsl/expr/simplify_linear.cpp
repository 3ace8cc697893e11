#include "dsl/expr/index_rewriter.h"

#include <algorithm>
#include <llvm/ADT/STLExtras.h>

namespace nestsmith {

// Coefficients of integer data wrap around. So these functions use wrapping arithmetic.
static std::int64_t plus(std::int64_t a, std::int64_t b) { return arithmetic<BinaryOp::add>(a, b); }
static std::int64_t times(std::int64_t a, std::int64_t b) { return arithmetic<BinaryOp::mul>(a, b); }

LinearForm IndexRewriter::linearize(const Expr &e) {
  return linear_(e, [&] {
    LinearForm result;
    gather(e, 1, result);
    merge(result);
    if (e.dtype() == DType::i32 && e.node().data)
      reduce_to_i32(result);
    return result;
  });
}

/// Replaces the coefficients and the constant by the i32 values that are equal to them modulo 2^32.
void IndexRewriter::reduce_to_i32(LinearForm &linear) {
  for (Term &term : linear.terms)
    term.coefficient = static_cast<std::int32_t>(term.coefficient);
  llvm::erase_if(linear.terms, [](const Term &term) { return term.coefficient == 0; });
  linear.constant = static_cast<std::int32_t>(linear.constant);
}

/// Returns the first node that was interned for this value. The rewriter builds equal canonical forms many
/// times, and the caches of results compare nodes by address. Small expressions are not interned, because that
/// costs more than it saves.
Expr IndexRewriter::interned(Expr e) { return e.node().size < 64 ? e : *interned_.insert(std::move(e)).first; }

/// Linearizes an expression that is neither a sum, a constant, a variable, nor a product with a constant on the
/// right.
LinearForm IndexRewriter::linearize_term(const Expr &e) {
  const auto *op = e.as<Binary>();
  if (!op)
    return rest_of(e);
  auto divisor = as_int(op->b);
  switch (op->op) {
  case BinaryOp::mul: {
    LinearForm a = linearize(op->a), b = linearize(op->b);
    if (b.terms.empty())
      return scale(std::move(a), b.constant);
    if (a.terms.empty())
      return scale(std::move(b), a.constant);
    // [rule.mul.coefficients] k*x*(l*y) = k*l*(x*y)
    std::int64_t factor = 1;
    auto without_coefficient = [&](const LinearForm &form) {
      if (form.terms.size() != 1 || form.constant != 0)
        return to_expr(form);
      const Term term = in_lowest_terms(form.terms[0]);
      std::int64_t product = 0;
      if (__builtin_mul_overflow(factor, term.coefficient, &product))
        return to_expr(form);
      factor = product;
      return to_expr(LinearForm{{{1, term.digit}}, 0});
    };
    Expr x = without_coefficient(a), y = op->a.get() == op->b.get() && factor == 1 ? x : without_coefficient(b);
    if (is_of_sizes(x) && is_of_sizes(y) && order(y, x) < 0)
      std::swap(x, y); // [rule.mul.order] x*y = y*x
    return scale(atom(x * y), factor);
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
    LinearForm a = linearize(op->a), b = linearize(op->b);
    auto difference = range_of_difference(a, b);
    bool is_min = op->op == BinaryOp::min;
    if (difference && (difference->low != 0 || difference->high != 0) && (may_wrap(a) || may_wrap(b)))
      break;
    // [rule.order.below] min(x, y) = x, max(x, y) = y where x - y <= 0
    if (difference && difference->high <= 0)
      return linearize(is_min ? op->a : op->b);
    // [rule.order.above] min(x, y) = y, max(x, y) = x where x - y >= 0
    if (difference && difference->low >= 0)
      return linearize(is_min ? op->b : op->a);
    break;
  }
  default:
    if (auto result = linearize_bits(e, *op))
      return *result;
    break;
  }
  return rest_of(e);
}

bool IndexRewriter::has_data(const LinearForm &x) {
  return std::ranges::any_of(x.terms, [](const Term &term) { return term.digit.base.node().data; });
}

/// Whether the value of `x` may differ from the exact sum of its terms. Index arithmetic, a single term with
/// coefficient 1, and data that provably stays in the range of its type do not differ.
bool IndexRewriter::may_wrap(const LinearForm &x) {
  bool single = x.terms.size() == 1 && x.terms[0].coefficient == 1 && x.constant == 0;
  return has_data(x) && !single && !range(x);
}

/// Simplifies the operands only. If this gives a node of another kind, linearizes the result: min(3, 4) becomes
/// 3.
LinearForm IndexRewriter::rest_of(const Expr &e) {
  Expr result = map_children(e, [&](const Expr &child) { return simplify(child); });
  const auto *before = e.as<Binary>(), *after = result.as<Binary>();
  bool same_kind =
      before ? after && after->op == before->op : result.node().kind.index() == e.node().kind.index();
  return same_kind ? atom(result) : linearize(result);
}

/// Adds factor * e to `into`, term by term.
void IndexRewriter::gather(const Expr &e, std::int64_t factor, LinearForm &into) {
  const auto *op = e.as<Binary>();
  bool adds = op && (op->op == BinaryOp::add || op->op == BinaryOp::sub);
  auto multiplier = op && op->op == BinaryOp::mul ? as_int(op->b) : std::nullopt;
  if (factor == 0)
    return;
  if (auto value = as_int(e)) {
    into.constant = plus(into.constant, times(factor, *value));
  } else if (adds) {
    gather_operand(op->a, factor, into);
    gather_operand(op->b, op->op == BinaryOp::add ? factor : times(factor, -1), into);
  } else if (multiplier) {
    gather_operand(op->a, times(factor, *multiplier), into);
  } else if (e.as<Var>()) {
    std::int64_t unit = unit_of(e);
    add(into, {factor * unit, {e, unit, 0}});
  } else {
    add(into, linearize_term(e), factor);
  }
}

/// Like `gather`, but visits a large shared operand only once.
void IndexRewriter::gather_operand(const Expr &e, std::int64_t factor, LinearForm &into) {
  if (e.may_recur() && e.node().size > 64)
    add(into, linearize(e), factor);
  else
    gather(e, factor, into);
}

LinearForm IndexRewriter::scale(LinearForm linear, std::int64_t factor) {
  if (factor == 0)
    return {};
  for (Term &term : linear.terms)
    term.coefficient = times(term.coefficient, factor);
  linear.constant = times(linear.constant, factor);
  return linear;
}

bool IndexRewriter::same_digit(const Digit &a, const Digit &b) {
  return a.div == b.div && a.mod == b.mod && same(a.base, b.base);
}

LinearForm IndexRewriter::sum(LinearForm a, const LinearForm &b, std::int64_t sign) {
  add(a, b, sign);
  merge(a);
  return a;
}

void IndexRewriter::add(LinearForm &linear, const LinearForm &more, std::int64_t factor) {
  for (const Term &term : more.terms)
    add(linear, {times(factor, term.coefficient), term.digit});
  linear.constant = plus(linear.constant, times(factor, more.constant));
}

void IndexRewriter::add(LinearForm &linear, LinearForm &&more, std::int64_t factor) {
  if (!linear.terms.empty() || factor != 1)
    return add(linear, std::as_const(more), factor);
  linear.terms = std::move(more.terms);
  linear.constant = plus(linear.constant, more.constant);
}

void IndexRewriter::add(LinearForm &linear, Term term) {
  for (auto it = linear.terms.begin(); it != linear.terms.end(); ++it)
    if (same_digit(it->digit, term.digit)) {
      it->coefficient = plus(it->coefficient, term.coefficient);
      if (it->coefficient == 0)
        linear.terms.erase(it);
      return;
    }
  linear.terms.push_back(std::move(term));
}

/// [rule.digits.join] x//d//m = x//(d*m), k*(x//d % m) + k*m*(x//(d*m)) = k*(x//d) where d > 0, m > 0
/// [rule.digits.join_within] x//d//m = x//(d*m), x//d//(m*n) = x//(d*m)//n,
///     k*(x//d % m) + k*m*(x//(d*m) % n) = k*(x//d % (m*n)) where d > 0, m > 0, n > 0
void IndexRewriter::merge(LinearForm &linear) {
  for (bool merged = true; merged;)
    merged = merge_by_size(linear);
  bool changed = std::ranges::any_of(linear.terms, [](const Term &term) { return term.digit.mod != 0; });
  while (changed) {
    changed = false;
    for (std::size_t low = 0; low < linear.terms.size() && !changed; ++low)
      if (linear.terms[low].digit.mod != 0)
        for (std::size_t high = 0; high < linear.terms.size() && !changed; ++high)
          changed = merge(linear, low, high);
  }
}

bool IndexRewriter::merge(LinearForm &linear, std::size_t low, std::size_t high) {
  const Term &first = linear.terms[low], &second = linear.terms[high];
  if (low == high || first.digit.mod == 0 || second.coefficient != times(first.coefficient, first.digit.mod) ||
      second.digit.div != times(first.digit.div, first.digit.mod) || !same(first.digit.base, second.digit.base))
    return false;
  if (second.digit.mod != 0 && !product_in(first.digit.base.dtype(), first.digit.mod, second.digit.mod))
    return false;
  Term a = first, b = second;
  linear.terms.erase(linear.terms.begin() + static_cast<std::ptrdiff_t>(std::max(low, high)));
  linear.terms.erase(linear.terms.begin() + static_cast<std::ptrdiff_t>(std::min(low, high)));
  Digit joined{a.digit.base, a.digit.div, b.digit.mod == 0 ? 0 : a.digit.mod * b.digit.mod};
  LinearForm whole = joined.is_base() ? linearize(joined.base) : LinearForm{{{1, joined}}, 0};
  linear = sum(std::move(linear), scale(std::move(whole), a.coefficient), 1);
  return true;
}

/// The operands of a term that is one operation; null if it is another one, or a digit of one.
static const Binary *operator_of(const Term &term, BinaryOp op) {
  const auto *binary = term.digit.is_base() ? term.digit.base.as<Binary>() : nullptr;
  return binary && binary->op == op ? binary : nullptr;
}

/// Replaces two terms of which the second is a multiple of a size, if rule.sizes.join or rule.sizes.collect
/// makes one of them.
bool IndexRewriter::merge_by_size(LinearForm &linear) {
  for (std::size_t n = 0; n < linear.terms.size(); ++n) {
    const Binary *multiple = operator_of(linear.terms[n], BinaryOp::mul);
    if (!multiple)
      continue;
    for (std::size_t other = 0; other < linear.terms.size(); ++other)
      for (const auto &[quotient, size] :
           {std::pair(multiple->a, multiple->b), std::pair(multiple->b, multiple->a)}) {
        std::optional<Expr> joined = with_remainder(linear.terms[other], linear.terms[n], quotient, size);
        const std::int64_t factor = joined ? linear.terms[n].coefficient : 1;
        if (!joined && other != n)
          joined = with_multiple(linear.terms[other], linear.terms[n], quotient, size);
        if (!joined)
          continue;
        linear.terms.erase(linear.terms.begin() + static_cast<std::ptrdiff_t>(std::max(n, other)));
        linear.terms.erase(linear.terms.begin() + static_cast<std::ptrdiff_t>(std::min(n, other)));
        linear = sum(std::move(linear), linearize(*joined), factor);
        return true;
      }
  }
  return false;
}

/// [rule.sizes.join] k*(x % y) + k*((x//y + q)*y) = k*(x + q*y) where y > 0
std::optional<Expr> IndexRewriter::with_remainder(const Term &term, const Term &multiple, const Expr &quotient,
                                                  const Expr &size) {
  const Binary *rest = operator_of(term, BinaryOp::floormod);
  if (!rest || term.coefficient != multiple.coefficient || !same(size, rest->b))
    return std::nullopt;
  LinearForm more = linearize(quotient);
  const auto whole = std::ranges::find_if(more.terms, [&](const Term &part) {
    const Binary *division = operator_of(part, BinaryOp::floordiv);
    return division && part.coefficient == 1 && same(division->a, rest->a) && same(division->b, rest->b);
  });
  if (whole == more.terms.end() || !is_positive(size))
    return std::nullopt;
  more.terms.erase(whole);
  return more.terms.empty() && more.constant == 0 ? rest->a
                                                  : rest->a + to_expr(more, size.dtype()) * Expr(size);
}

/// The product without one of its factors; null if it does not have it.
static Expr without_factor(const Expr &product, const Expr &factor) {
  const auto *op = product.as<Binary>();
  if (!op || op->op != BinaryOp::mul)
    return {};
  if (same(op->a, factor))
    return Expr(op->b);
  if (same(op->b, factor))
    return Expr(op->a);
  if (const Expr a = without_factor(Expr(op->a), factor); a.exists())
    return a * Expr(op->b);
  const Expr b = without_factor(Expr(op->b), factor);
  return b.exists() ? Expr(op->a) * b : Expr();
}

/// If the sum of the quotients is one term, such as x//2*2 + x%2:
/// [rule.sizes.collect] k*(a*y) + l*(b*y) = (k*a + l*b)*y, a*(z*y) = a*z*y
std::optional<Expr> IndexRewriter::with_multiple(const Term &term, const Term &multiple, const Expr &quotient,
                                                 const Expr &size) {
  if (!operator_of(term, BinaryOp::mul) || !is_of_sizes(size))
    return std::nullopt;
  const Expr own = without_factor(term.digit.base, size);
  if (!own.exists())
    return std::nullopt;
  const LinearForm both =
      sum(scale(linearize(quotient), multiple.coefficient), linearize(own), term.coefficient);
  return both.terms.size() == 1 && both.constant == 0 ? std::optional(to_expr(both) * Expr(size))
                                                      : std::nullopt;
}

Expr IndexRewriter::simplify(const Expr &e) {
  if (!e.exists() || e.as<IntImm>() || e.as<Var>())
    return e;
  return simplified_(e, [&] { return simplify_node(e); });
}

Expr IndexRewriter::simplify_node(const Expr &e) {
  if (const auto *op = e.as<Binary>(); op && is_comparison(op->op) && is_index(op->a.dtype()))
    if (auto value = decide(*op))
      return boolean(*value);
  if (!is_index(e.dtype()))
    return map_children(e, [&](const Expr &child) { return simplify(child); });
  Expr result = to_expr(linearize(e), e.dtype());
  return same(result, e) ? e : result;
}

/// Returns the range of a - b, computed on integers without overflow.
std::optional<Range> IndexRewriter::range_of_difference(const LinearForm &a, const LinearForm &b) {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(a.constant, b.constant, &difference))
    return std::nullopt;
  for (const Term &y : b.terms) {
    auto x = std::ranges::find_if(a.terms, [&](const Term &term) { return same_digit(term.digit, y.digit); });
    if (__builtin_sub_overflow(x == a.terms.end() ? 0 : x->coefficient, y.coefficient, &difference))
      return std::nullopt;
  }
  return range(sum(a, b, -1));
}

/// [rule.compare.lt] x < y where x - y < 0
/// [rule.compare.not_lt] y <= x where 0 <= x - y
/// [rule.compare.le] x <= y where x - y <= 0
/// [rule.compare.not_le] y < x where 0 < x - y
/// [rule.compare.eq] x = y where x - y <= 0, 0 <= x - y
/// [rule.compare.above] x != y where 0 < x - y
/// [rule.compare.below] x != y where x - y < 0
std::optional<bool> IndexRewriter::decide(const Binary &op) {
  LinearForm a = linearize(op.a), b = linearize(op.b);
  auto difference = range_of_difference(a, b);
  if (!difference)
    return std::nullopt;
  auto [low, high] = *difference;
  bool apart = low > 0 || high < 0, equal = low == 0 && high == 0;
  bool ordered =
      equal || !(may_wrap(a) || may_wrap(b)); // else the difference decides only whether they are equal
  if (ordered && op.op == BinaryOp::lt && (high < 0 || low >= 0))
    return high < 0;
  if (ordered && op.op == BinaryOp::le && (high <= 0 || low > 0))
    return high <= 0;
  if (op.op == BinaryOp::eq && (apart || equal))
    return equal;
  if (op.op == BinaryOp::ne && (apart || equal))
    return apart;
  return std::nullopt;
}

} // namespace nestsmith
