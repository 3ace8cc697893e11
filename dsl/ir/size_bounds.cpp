#include "dsl/ir/size_bounds.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace nestsmith {

namespace {

using Cases = std::vector<MaskCase>;

constexpr std::size_t most_cases = 16;

void append(std::vector<Expr> &to, const std::vector<Expr> &from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// The cases as they are, or if they are too many, one case that knows of no slack.
Cases at_most_cases(Cases cases) {
  if (cases.size() <= most_cases)
    return cases;
  MaskCase all;
  for (const MaskCase &each : cases) {
    append(all.others, each.slacks);
    append(all.others, each.others);
  }
  return {std::move(all)};
}

Cases conjunction(const Cases &a, const Cases &b) {
  Cases result;
  for (const MaskCase &x : a)
    for (const MaskCase &y : b) {
      MaskCase &joined = result.emplace_back(x);
      append(joined.slacks, y.slacks);
      append(joined.others, y.others);
    }
  return at_most_cases(std::move(result));
}

Cases disjunction(Cases a, const Cases &b) {
  a.insert(a.end(), b.begin(), b.end());
  return at_most_cases(std::move(a));
}

/// The cases in which the condition is true, or in which it is false if `negated`.
Cases cases_of_condition(const Expr &condition, bool negated) {
  if (auto value = as_int(condition))
    return (*value != 0) != negated ? Cases(1) : Cases();
  if (const auto *opposite = condition.as<Not>())
    return cases_of_condition(opposite->a, !negated);
  const auto *op = condition.as<Binary>();
  if (op && is_logical(op->op)) {
    Cases a = cases_of_condition(op->a, negated), b = cases_of_condition(op->b, negated);
    return (op->op == BinaryOp::logical_and) != negated ? conjunction(a, b) : disjunction(std::move(a), b);
  }
  op = comparison_of_indices(condition);
  if (!op)
    return {{.others = {condition}}};
  Expr more = op->a - op->b, less = op->b - op->a;
  auto one = [](const Expr &slack) { return Cases{{.slacks = {slack}}}; };
  switch (op->op) {
  case BinaryOp::lt:
    return one(negated ? more : less - Expr(1));
  case BinaryOp::le:
    return one(negated ? more - Expr(1) : less);
  default: // equal if the operator is == and not negated, or != and negated
    return (op->op == BinaryOp::eq) != negated ? Cases{{.slacks = {more, less}}}
                                               : disjunction(one(more - Expr(1)), one(less - Expr(1)));
  }
}

/// Whether the value is one for the whole launch.
bool has_no_axis(const Expr &e) {
  return !any_node(e, [](const Expr &node) {
    const Var *var = node.as<Var>();
    return (var && !(*var)->size) || node.as<Load>() || node.as<Call>();
  });
}

bool is_positive(const Expr &e) { return has_no_axis(e) && proves(Expr(1) <= e, {}); }

/// x * factor, multiplied out.
Expr multiplied(const Expr &x, const Expr &factor) {
  Linear sum = linearize(x, {});
  Expr result = factor * Expr(sum.constant);
  for (const auto &[coefficient, digit] : sum.terms) {
    Expr base = to_expr(Linear{{{1, digit}}, 0});
    result = result + (order(base, factor) < 0 ? base * factor : factor * base) * Expr(coefficient);
  }
  return simplify(result);
}

constexpr std::int64_t most_scale = std::int64_t{1} << 20;

} // namespace

/// Multiplies the difference by f, a multiple of all divisors:
///   k*f*(x//d) <= k*f/d * x where k > 0, k*f*(x//d) <= k*f/d * (x - (d - 1)) where k < 0
/// The difference is not positive if this bound of its multiple is less than f.
bool at_most(const Expr &a, const Expr &b) {
  const auto *of_a = a.as<Binary>(), *of_b = b.as<Binary>();
  if (of_a && of_a->op == BinaryOp::max)
    return at_most(of_a->a, b) && at_most(of_a->b, b);
  if (of_b && of_b->op == BinaryOp::min)
    return at_most(a, of_b->a) && at_most(a, of_b->b);
  if (of_a && of_a->op == BinaryOp::min)
    return at_most(of_a->a, b) || at_most(of_a->b, b);
  if (of_b && of_b->op == BinaryOp::max)
    return at_most(a, of_b->a) || at_most(a, of_b->b);
  if (proves(a <= b, {}))
    return true;
  Linear difference = linearize(a - b, {});
  std::int64_t scale = 1;
  for (const Term &term : difference.terms) {
    scale = std::lcm(scale, term.digit.div);
    if (term.digit.mod != 0 || scale > most_scale)
      return false;
  }
  Expr bound = Expr(difference.constant) * Expr(scale);
  for (const auto &[coefficient, digit] : difference.terms) {
    std::int64_t factor = 0;
    if (__builtin_mul_overflow(coefficient, scale / digit.div, &factor))
      return false;
    const Var *size = digit.base.as<Var>();
    bool exact = size && (*size)->size && (*size)->size->multiple_of % digit.div == 0;
    bound = bound + (exact || factor > 0 ? digit.base : digit.base - Expr(digit.div - 1)) * Expr(factor);
  }
  auto range = range_of(bound, {});
  return range && range->high < scale;
}

std::vector<MaskCase> cases_of(const std::vector<Expr> &conditions) {
  Cases cases(1);
  for (const Expr &condition : conditions)
    cases = conjunction(cases, cases_of_condition(condition, false));
  return cases;
}

SizeBounds::SizeBounds(const Block &block) {
  for (const IterVar &iter : block.iters) {
    axes_.set_extent(iter.var, iter.extent);
    highest_[iter.var] = simplify(iter.extent - Expr(1));
    lowest_[iter.var] = 0;
  }
}

void SizeBounds::narrow(const MaskCase &facts) {
  for (const Expr &slack : facts.slacks) {
    Linear sum = linearize(slack, axes_);
    auto of_axis = std::ranges::find_if(sum.terms, [&](const Term &term) {
      const Var *var = term.digit.as_var();
      return var && highest_.contains(*var);
    });
    if (of_axis == sum.terms.end())
      continue;
    Var axis = *of_axis->digit.base.as<Var>();
    std::int64_t factor = of_axis->coefficient;
    sum.terms.erase(of_axis);
    Expr rest = to_expr(sum);
    if (!has_no_axis(rest))
      continue;
    Expr end = simplify(factor < 0 ? floordiv(rest, Expr(-factor)) : Expr(0) - floordiv(rest, Expr(factor)));
    if (factor < 0 && !at_most(highest_[axis], end))
      highest_[axis] = end;
    if (factor > 0 && !at_most(end, lowest_[axis]))
      lowest_[axis] = end;
  }
}

Expr SizeBounds::bound(const Expr &e, bool upper) const {
  if (as_int(e))
    return e;
  if (const Var *var = e.as<Var>()) {
    const auto &ends = upper ? highest_ : lowest_;
    auto end = ends.find(*var);
    return end != ends.end() ? end->second : (*var)->size ? e : Expr();
  }
  if (const auto *choice = e.as<Select>())
    return joined(choice->when_true, upper, choice->when_false, upper, upper ? BinaryOp::max : BinaryOp::min);
  const auto *op = e.as<Binary>();
  return op ? bound_of_operator(*op, upper) : Expr();
}

Expr SizeBounds::joined(const Expr &a, bool upper_a, const Expr &b, bool upper_b, BinaryOp op) const {
  Expr x = bound(a, upper_a), y = bound(b, upper_b);
  return x.exists() && y.exists() ? simplify(binary(op, x, y)) : Expr();
}

Expr SizeBounds::bound_of_operator(const Binary &op, bool upper) const {
  switch (op.op) {
  case BinaryOp::min:
  case BinaryOp::max:
    if ((op.op == BinaryOp::min) == upper) // one bound is enough: min(x, N) is at most N
      for (const auto &[known, other] : {std::pair(op.a, op.b), std::pair(op.b, op.a)})
        if (!bound(other, upper).exists())
          return bound(known, upper);
    return joined(op.a, upper, op.b, upper, op.op);
  case BinaryOp::add:
    return joined(op.a, upper, op.b, upper, op.op);
  case BinaryOp::sub:
    return joined(op.a, upper, op.b, !upper, op.op);
  case BinaryOp::mul:
    return has_no_axis(op.b) ? scaled(op.a, op.b, upper) : scaled(op.b, op.a, upper);
  case BinaryOp::floordiv:
    return is_positive(op.b) ? joined(op.a, upper, op.b, upper, op.op) : Expr();
  case BinaryOp::floormod:
    return is_positive(op.b) ? remainder(op.a, op.b, upper) : Expr();
  case BinaryOp::bit_and:
    return with_cleared_bits(op.a, op.b, upper);
  case BinaryOp::bit_or:
  case BinaryOp::bit_xor:
    return with_changed_bits(op.a, op.b, upper);
  case BinaryOp::shift_left:
    return as_int(op.b).value_or(62) < 62 ? scaled(op.a, Expr(1) << op.b, upper) : Expr();
  case BinaryOp::shift_right:
    return as_int(op.b) ? joined(op.a, upper, op.b, upper, op.op) : Expr();
  default:
    return {};
  }
}

Expr SizeBounds::scaled(const Expr &e, const Expr &factor, bool upper) const {
  if (!has_no_axis(factor)) { // a product of axes
    bool natural = proves(Expr(0) <= e, axes_) && proves(Expr(0) <= factor, axes_);
    return natural ? joined(e, upper, factor, upper, BinaryOp::mul) : Expr();
  }
  bool positive = proves(Expr(0) <= factor, {});
  if (!positive && !proves(factor <= Expr(0), {}))
    return {};
  Expr x = bound(e, positive == upper);
  return x.exists() ? multiplied(x, factor) : Expr();
}

Expr SizeBounds::remainder(const Expr &e, const Expr &divisor, bool upper) const {
  Expr least = bound(e, false), most = bound(e, true);
  bool unchanged =
      least.exists() && most.exists() && proves(Expr(0) <= least, {}) && proves(most < divisor, {});
  if (unchanged)
    return upper ? most : least;
  return upper ? simplify(divisor - Expr(1)) : Expr(0);
}

/// If 0 <= c, x & c is in [0, c].
Expr SizeBounds::with_cleared_bits(const Expr &e, const Expr &bits, bool upper) const {
  for (const auto &[x, y] : {std::pair(e, bits), std::pair(bits, e)}) {
    Expr most = bound(y, true), least = bound(y, false);
    if (most.exists() && least.exists() && proves(Expr(0) <= least, {}))
      return upper ? most : Expr(0);
  }
  return {};
}

/// If 0 <= c < 2^k, x ^ c and x | c differ from x in the lowest k bits only.
Expr SizeBounds::with_changed_bits(const Expr &e, const Expr &bits, bool upper) const {
  auto value = as_int(bits);
  Expr least = bound(e, false), end = bound(e, upper);
  if (!value || *value < 0 || *value >= std::int64_t{1} << 62 || !least.exists() || !end.exists() ||
      !proves(Expr(0) <= least, {}))
    return {};
  auto unit = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(*value) + 1));
  return simplify(floordiv(end, Expr(unit)) * Expr(unit) + Expr(upper ? unit - 1 : 0));
}

} // namespace nestsmith
