#include "dsl/ir/loop_digits.h"

#include "dsl/expr/factors.h"

#include <algorithm>
#include <numeric>

namespace nestsmith {

namespace {

/// An expression that is at least 0 as a product of a constant and factors.
struct Product {
  std::int64_t constant = 1;
  std::vector<Expr> factors;
};

Product product_of(const Expr &e, const Bounds &bounds) {
  Linear sum = linearize(e, bounds);
  Product product;
  product.constant = sum.constant;
  for (const Term &term : sum.terms)
    product.constant = std::gcd(product.constant, term.coefficient);
  if (sum.terms.empty() || product.constant == 0)
    return product;
  sum.constant /= product.constant;
  for (Term &term : sum.terms)
    term.coefficient /= product.constant;
  product.factors = factors_of(to_expr(sum));
  return product;
}

/// a / b for a >= 0 and b > 0, if the factors of b are among those of a. Otherwise null.
Expr quotient(const Expr &a, const Expr &b, const Bounds &bounds) {
  Product whole = product_of(a, bounds);
  const Product part = product_of(b, bounds);
  if (part.constant == 0 || whole.constant % part.constant != 0)
    return {};
  for (const Expr &factor : part.factors) {
    auto found = std::ranges::find_if(whole.factors, [&](const Expr &x) { return same(x, factor); });
    if (found == whole.factors.end())
      return {};
    whole.factors.erase(found);
  }
  Expr result = whole.constant / part.constant;
  for (const Expr &factor : whole.factors)
    result = result * factor;
  return simplify(result, bounds);
}

/// Whether two expressions are products of the same factors, in any order.
bool same_product(const Expr &a, const Expr &b, const Bounds &bounds) {
  if (same(a, b))
    return true;
  const Expr whole = quotient(a, b, bounds);
  return whole.exists() && as_int(whole) == 1;
}

/// The number of values of var // div for var below `extent`.
Expr values_of(const Expr &extent, const Expr &div, const Bounds &bounds) {
  const Expr whole = quotient(extent, div, bounds);
  return whole.exists() ? whole : simplify(floordiv(extent - Expr(1), div) + Expr(1));
}

/// var // div % mod; a null `mod`: the whole quotient.
struct DigitOfVar {
  Var var;
  Expr div, mod;
};

bool is_divisor(const Expr &e, const Bounds &bounds) {
  return (as_int(e) || is_of_sizes(e)) && proves(Expr(0) < e, bounds);
}

/// x//a//b is x//(a*b) for positive a and b, and x//a%m//b is x//(a*b)%(m/b) if b divides m.
std::optional<DigitOfVar> divided(DigitOfVar digit, const Expr &by, const Bounds &bounds) {
  if (!is_divisor(by, bounds))
    return std::nullopt;
  if (digit.mod.exists()) {
    digit.mod = quotient(digit.mod, by, bounds);
    if (!digit.mod.exists())
      return std::nullopt;
  }
  digit.div = simplify(by * digit.div);
  return digit;
}

/// x//a%m%b is x//a%b if b divides m.
std::optional<DigitOfVar> remaining(DigitOfVar digit, const Expr &by, const Bounds &bounds) {
  if (!is_divisor(by, bounds) || (digit.mod.exists() && !quotient(digit.mod, by, bounds).exists()))
    return std::nullopt;
  digit.mod = by;
  return digit;
}

std::optional<DigitOfVar> digit_of_var(const Expr &e, const Bounds &bounds) {
  if (const Var *var = e.as<Var>())
    return DigitOfVar{*var, Expr(1), Expr()};
  const auto *op = e.as<Binary>();
  if (!op || (op->op != BinaryOp::floordiv && op->op != BinaryOp::floormod))
    return std::nullopt;
  const auto inner = digit_of_var(Expr(op->a), bounds);
  if (!inner)
    return std::nullopt;
  return op->op == BinaryOp::floordiv ? divided(*inner, Expr(op->b), bounds)
                                      : remaining(*inner, Expr(op->b), bounds);
}

/// The digit of a variable with an extent, such as var // size // 2 % 3.
std::optional<LoopDigit> digit_of_loop(const Digit &digit, std::int64_t scale, const Bounds &bounds) {
  auto found = digit_of_var(digit.base, bounds);
  if (found && digit.div != 1)
    found = divided(*found, Expr(digit.div), bounds);
  if (found && digit.mod)
    found = remaining(*found, Expr(digit.mod), bounds);
  const Expr *whole = found ? bounds.find_extent(found->var) : nullptr;
  if (!whole)
    return std::nullopt;
  return LoopDigit{found->var, found->div,
                   found->mod.exists() ? found->mod : values_of(*whole, found->div, bounds), scale};
}

} // namespace

std::optional<std::vector<LoopDigit>> loop_digits(const Expr &binding, const Bounds &bounds) {
  std::vector<LoopDigit> digits;
  for (const Term &term : linearize(binding, bounds).terms) {
    const auto &[factor, digit] = term;
    std::optional<LoopDigit> found = digit_of_loop(digit, factor, bounds);
    const Var *var = digit.base.as<Var>();
    if (auto range = var && !found ? bounds.find(*var) : std::nullopt) {
      std::int64_t extent = floor_div(range->high, digit.div) + 1;
      found = LoopDigit{*var, digit.div, digit.mod ? std::min(extent, digit.mod) : extent, factor};
    }
    if (!found || factor < 1)
      return std::nullopt;
    digits.push_back(*found);
  }
  return digits;
}

/// The product of the digits, from the lowest on. Null unless each digit begins where the digits below it end.
static Expr chained(std::vector<LoopDigit> digits, const Bounds &bounds) {
  Expr reached = 1;
  while (!digits.empty()) {
    auto next = std::find_if(digits.begin(), digits.end(),
                             [&](const LoopDigit &digit) { return same_product(digit.div, reached, bounds); });
    if (next == digits.end())
      return {};
    reached = simplify(reached * next->extent);
    digits.erase(next);
  }
  return reached;
}

bool bijective(const std::vector<Expr> &bindings, const std::vector<const For *> &loops, const Bounds &bounds) {
  std::vector<LoopDigit> all;
  for (const Expr &binding : bindings) {
    auto digits = loop_digits(binding, bounds);
    if (!digits)
      return false;
    std::erase_if(*digits, [](const LoopDigit &digit) { return as_int(digit.extent) == 1; });
    std::sort(digits->begin(), digits->end(), [](const auto &a, const auto &b) { return a.scale < b.scale; });
    Expr radix = 1;
    for (const LoopDigit &digit : *digits) {
      if (as_int(radix) != digit.scale)
        return false;
      radix = simplify(radix * digit.extent);
    }
    all.insert(all.end(), digits->begin(), digits->end());
  }
  for (const For *loop : loops) {
    std::vector<LoopDigit> own;
    std::copy_if(all.begin(), all.end(), std::back_inserter(own),
                 [&](const LoopDigit &digit) { return digit.var == loop->var; });
    Expr reached = chained(std::move(own), bounds);
    if (!reached.exists() ||
        !(same_product(loop->extent, reached, bounds) || proves(loop->extent <= reached, bounds)))
      return false;
  }
  return true;
}

} // namespace nestsmith
