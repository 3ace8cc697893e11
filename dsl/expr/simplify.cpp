#include "dsl/expr/index_rewriter.h"

#include "dsl/expr/watch_answers.h"

#include <algorithm>
#include <llvm/ADT/ArrayRef.h>
#include <numeric>
#include <tuple>

namespace nestsmith {

std::int64_t unit_of(const Expr &e) {
  const Var *var = e.as<Var>();
  return var && (*var)->size ? (*var)->size->multiple_of : 1;
}
bool is_whole_size(const Digit &digit) {
  const Var *var = digit.base.as<Var>();
  return var && (*var)->size && digit.div == unit_of(digit.base) && digit.mod == 0;
}
bool is_of_sizes(const Expr &e) {
  if (!uses_size(e))
    return false;
  bool others = any_node(e, [](const Expr &node) {
    const Var *var = node.as<Var>();
    return (var && !(*var)->size) || node.as<Load>() || node.as<Lane>() || node.as<Call>();
  });
  return !others;
}

static Expr to_expr(const Digit &digit) {
  Expr result = digit.base;
  DType dtype = result.dtype();
  if (digit.div != 1)
    result = floordiv(std::move(result), int_imm(digit.div, dtype));
  if (digit.mod != 0)
    result = floormod(std::move(result), int_imm(digit.mod, dtype));
  return result;
}

/// Returns the term in the form in which it is printed.
/// [rule.size.whole] M//u = g*(M//(u*g)), k*g*(M//(u*g)) = k*(M//u) where u > 0, g > 0, M % (u*g) = 0
Term in_lowest_terms(Term term) {
  if (is_whole_size(term.digit)) {
    std::int64_t g = std::gcd(term.coefficient, term.digit.div);
    term.coefficient /= g;
    term.digit.div /= g;
  }
  return term;
}

/// Returns the variable at the start of the printed product, or null if the product starts with a sum in
/// parentheses.
static const Expr &leading_variable(const Expr &e) {
  static const Expr none;
  if (e.as<Var>())
    return e;
  const auto *op = e.as<Binary>();
  return op && op->op == BinaryOp::mul ? leading_variable(op->a) : none;
}

/// Returns the coefficient of `in_lowest_terms(term)`.
static std::int64_t written_coefficient(const Term &term) {
  return is_whole_size(term.digit) ? term.coefficient / std::gcd(term.coefficient, term.digit.div)
                                   : term.coefficient;
}

/// Orders the terms of a sum: by coefficient, with the largest first; then by leading variable, with terms that
/// have none first; then by base and digit. So equal sums are printed in the same order.
static bool comes_before(const Term &a, const Term &b) {
  if (auto x = written_coefficient(a), y = written_coefficient(b); x != y)
    return x > y;
  const Expr &p = a.digit.base, &q = b.digit.base;
  if (auto by = order(leading_variable(p), leading_variable(q)); by != 0)
    return by < 0;
  if (auto by = order(p, q); by != 0)
    return by < 0;
  Digit x = in_lowest_terms(a).digit, y = in_lowest_terms(b).digit;
  return std::tie(x.div, x.mod) < std::tie(y.div, y.mod);
}

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
  if (is_of_sizes(extent))
    extents_[var] = extent;
  if (auto range = range_of(extent, *this))
    set(var, {0, range->high - 1});
}

void Bounds::set(const Var &var, Range range) {
  for (auto &[known, its_range] : ranges_)
    if (known == var) {
      its_range = range;
      return;
    }
  if (ranges_.empty())
    ranges_.reserve(16);
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
  LinearForm form = IndexRewriter(bounds).linearize(e);
  Linear linear{{}, form.constant};
  linear.terms.reserve(form.terms.size());
  for (const Term *term : ordered(form.terms))
    linear.terms.push_back(*term);
  AnswerWatcher::show([&](AnswerWatcher &watcher) { watcher.simplified(e, to_expr(linear), bounds); });
  return linear;
}

std::optional<ShiftedVar> as_shifted_var(const Expr &e) {
  Linear sum = linearize(e, {});
  if (sum.terms.size() != 1 || sum.terms[0].coefficient != 1)
    return std::nullopt;
  const Var *var = sum.terms[0].digit.as_var();
  return var ? std::optional(ShiftedVar{*var, sum.constant}) : std::nullopt;
}

/// `dtype` is that of a constant; terms have their own.
static Expr to_expr(llvm::ArrayRef<Term> terms, std::int64_t constant, DType dtype) {
  auto negative = [](std::int64_t value) { return arithmetic<BinaryOp::sub>(std::int64_t{0}, value); };
  Expr result;
  if (!terms.empty())
    dtype = terms.front().digit.base.dtype();
  for (const Term *term : ordered(terms)) {
    auto [coefficient, factor] = in_lowest_terms(*term);
    bool subtracted = result.exists() && coefficient < 0;
    std::int64_t multiple = subtracted ? negative(coefficient) : coefficient;
    Expr digit = to_expr(factor);
    if (multiple != 1)
      digit = std::move(digit) * int_imm(multiple, dtype);
    if (!result.exists())
      result = std::move(digit);
    else
      result = subtracted ? std::move(result) - std::move(digit) : std::move(result) + std::move(digit);
  }
  if (!result.exists())
    return int_imm(constant, dtype);
  if (constant == 0)
    return result;
  return constant < 0 ? result - int_imm(negative(constant), dtype) : result + int_imm(constant, dtype);
}

Expr to_expr(const LinearForm &form, DType dtype) { return to_expr(form.terms, form.constant, dtype); }

Expr to_expr(const Linear &linear, DType dtype) { return to_expr(linear.terms, linear.constant, dtype); }

Expr simplify(const Expr &e, const Bounds &bounds) {
  Expr result = IndexRewriter(bounds).simplify(e);
  AnswerWatcher::show([&](AnswerWatcher &watcher) { watcher.simplified(e, result, bounds); });
  return result;
}

std::optional<Range> range_of(const Expr &e, const Bounds &bounds) {
  auto range = IndexRewriter(bounds).range(e);
  if (range)
    AnswerWatcher::show([&](AnswerWatcher &watcher) { watcher.bounded(e, *range, bounds); });
  return range;
}

std::optional<Range> range_of(const Linear &linear, const Bounds &bounds) {
  auto range = IndexRewriter(bounds).range(LinearForm(linear));
  if (range)
    AnswerWatcher::show([&](AnswerWatcher &watcher) { watcher.bounded(to_expr(linear), *range, bounds); });
  return range;
}

std::optional<Range> range_of(const Digit &digit, const Bounds &bounds) {
  LinearForm form{{{1, digit}}, 0};
  auto range = IndexRewriter(bounds).range(form);
  if (range)
    AnswerWatcher::show([&](AnswerWatcher &watcher) { watcher.bounded(to_expr(form), *range, bounds); });
  return range;
}

std::optional<Expr> highest(const Expr &e, const Bounds &bounds) {
  IndexRewriter rewriter(bounds);
  LinearForm form = rewriter.linearize(e);
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

/// Returns the value of a < b or a <= b if interval arithmetic alone decides it.
/// [rule.rough.lt] x < y where x <= h, l <= y, h < l
/// [rule.rough.le] x <= y where x <= h, l <= y, h <= l
static std::optional<bool> roughly(const Expr &condition, const Bounds &bounds) {
  const auto *op = condition.as<Binary>();
  if (!op || (op->op != BinaryOp::lt && op->op != BinaryOp::le))
    return std::nullopt;
  auto of_var = [&](const Var &var) { return bounds.find(var); };
  auto a = rough_range(op->a, of_var), b = rough_range(op->b, of_var);
  if (!a || !b)
    return std::nullopt;
  bool strict = op->op == BinaryOp::lt;
  bool holds = strict ? a->high < b->low : a->high <= b->low;
  bool fails = strict ? a->low >= b->high : a->low > b->high;
  return holds || fails ? std::optional(holds) : std::nullopt;
}

bool proves(const Expr &condition, const Bounds &bounds) {
  bool holds = false;
  const auto *op = condition.as<Binary>();
  if (auto rough = roughly(condition, bounds))
    holds = *rough;
  else if (op && is_comparison(op->op) && is_index(op->a.dtype()))
    holds = IndexRewriter(bounds).decide(*op).value_or(false);
  else
    return is_true(simplify(condition, bounds));
  if (holds)
    AnswerWatcher::show([&](AnswerWatcher &watcher) { watcher.simplified(condition, boolean(true), bounds); });
  return holds;
}

} // namespace nestsmith
