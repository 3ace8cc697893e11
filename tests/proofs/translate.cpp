/// Translates expressions to polynomials and formulas.

#include "tests/proofs/translate.h"

#include <limits>

namespace nestsmith::proofs {

namespace {

constexpr Verdict::Kind proved = Verdict::Kind::proved;

bool one_form(const Expr &a, const Expr &b) {
  if (a.node().kind.index() != b.node().kind.index() || a.dtype() != b.dtype())
    return false;
  return a.visit(Overloaded{
      [&](const Binary &x) { return x.op == b.as<Binary>()->op; },
      [&](const Load &x) { return x.buffer == b.as<Load>()->buffer && x.lanes == b.as<Load>()->lanes; },
      [&](const Call &x) { return x.function == b.as<Call>()->function; },
      [&](const Select &x) { return x.branches == b.as<Select>()->branches; },
      [&](const Not &) { return true; },
      [&](const Cast &) { return true; },
      [&](const Pack &) { return true; },
      [&](const Tuple &) { return true; }, // both have one dtype
      [&](const Part &x) { return x.index == b.as<Part>()->index; },
      [&](const auto &) { return same(a, b); },
  });
}

std::vector<Expr> children(const Expr &e) {
  std::vector<Expr> list;
  for_each_child(e, [&](const Expr &child) { list.push_back(child); });
  return list;
}

} // namespace

Poly Translator::define(const Var &var) {
  if (!var->size)
    return values_[var] = prover_.fresh(var->name);
  const auto [least, most, unit, usual] = *var->size; // [rule.size.range]
  return values_[var] = prover_.fresh(var->name, -floor_div(-least, unit), floor_div(most, unit)) * Poly(unit);
}

Poly Translator::define(const Var &var, Range range) {
  return values_[var] = prover_.fresh(var->name, range.low, range.high);
}

Poly Translator::value(const Var &var) {
  if (!values_.count(var) && meet_)
    meet_(*this, var);
  auto it = values_.find(var);
  return it == values_.end() ? define(var) : it->second;
}

Poly Translator::unknown(const Expr &e) {
  for (const auto &[known, poly] : unknowns_)
    if (alike(known, e))
      return poly;
  Poly made = prover_.fresh("unknown" + std::to_string(unknowns_.size()));
  if (e.dtype() == DType::boolean)
    prover_.assume(all({less_equal(Poly(0), made), less_equal(made, Poly(1))}));
  if (e.dtype() == DType::i32)
    prover_.assume(all({less_equal(Poly(std::numeric_limits<std::int32_t>::min()), made),
                        less_equal(made, Poly(std::numeric_limits<std::int32_t>::max()))}));
  // A conversion of bits of data, such as i64(x & 15): [rule.range.and], [rule.range.shift]
  const auto *conversion = e.as<Cast>();
  if (const auto *op = conversion ? conversion->a.as<Binary>() : nullptr; op && is_bitwise(op->op)) {
    auto known = [](const Expr &x) {
      return as_int(x) ? std::optional(Range{*as_int(x), *as_int(x)}) : std::nullopt;
    };
    auto range = range_of_bits(op->op, conversion->a.dtype(), known(op->a), known(op->b));
    if (range && range->low >= 0 && range->high <= std::numeric_limits<std::int32_t>::max())
      prover_.assume(all({less_equal(Poly(range->low), made), less_equal(made, Poly(range->high))}));
  }
  unknowns_.emplace_back(e, made);
  return made;
}

bool Translator::alike(const Expr &a, const Expr &b) {
  if (same(a, b))
    return true;
  if (!one_form(a, b))
    return false;
  std::vector<Expr> x = children(a), y = children(b);
  if (x.size() != y.size())
    return false;
  for (std::size_t n = 0; n < x.size(); ++n) {
    bool indices = is_index(x[n].dtype()) && is_index(y[n].dtype());
    if (indices ? !(integer(x[n]) == integer(y[n])) : !alike(x[n], y[n]))
      return false;
  }
  return true;
}

/// x & m, where m selects the bits from 2^f on, up to 2^(f + k): [rule.bits.field], [rule.bits.high]
std::optional<Poly> Translator::field(const Binary &op) {
  for (const auto &[x, y] : {std::pair(op.a, op.b), std::pair(op.b, op.a)}) {
    std::int64_t mask = as_int(y).value_or(0);
    if (mask == 0 || mask == std::numeric_limits<std::int64_t>::min())
      continue;
    std::int64_t unit = mask & -mask, digits = mask / unit;
    if (digits != -1 && (digits & (digits + 1)) != 0)
      continue;
    Poly high = prover_.quotient(integer(x), Poly(unit));
    if (digits != -1)
      high = prover_.remainder(high, Poly(digits) + Poly(1));
    return high * Poly(unit);
  }
  return std::nullopt;
}

/// The largest power of two, up to 2^31, that divides each coefficient.
static Integer unit_of(const Poly &p) {
  Integer unit = Integer(1) << 31;
  for (const auto &[atoms, coefficient] : p.terms())
    while (coefficient % unit != 0)
      unit /= 2;
  return unit;
}

/// x | y and x ^ y where no bit is in both: [rule.bits.disjoint]
std::optional<Poly> Translator::disjoint(const Binary &op) {
  Poly a = integer(op.a), b = integer(op.b);
  for (const auto &[high, low] : {std::pair(a, b), std::pair(b, a)})
    if (Integer unit = unit_of(high);
        unit > 1 && prover_.prove(all({at_least_0(low), less(low, Poly(unit))})).proved())
      return a + b;
  return std::nullopt;
}

Poly Translator::arithmetic(const Binary &op) {
  Poly a = integer(op.a), b = integer(op.b);
  switch (op.op) {
  case BinaryOp::add:
    return a + b;
  case BinaryOp::sub:
    return a - b;
  case BinaryOp::mul:
    return a * b;
  case BinaryOp::floordiv:
    return prover_.quotient(a, b);
  case BinaryOp::floormod:
    return prover_.remainder(a, b);
  case BinaryOp::min:
    return prover_.min(a, b);
  case BinaryOp::max:
    return prover_.max(a, b);
  case BinaryOp::bit_xor:
    if (complemented(op)) // [rule.bits.not]
      return Poly(-1) - a;
    return disjoint(op).value_or(prover_.bits(op.op, a, b));
  case BinaryOp::bit_or:
    return disjoint(op).value_or(prover_.bits(op.op, a, b));
  case BinaryOp::bit_and:
    return field(op).value_or(prover_.bits(op.op, a, b));
  case BinaryOp::shift_left: // [rule.bits.shift_left]
    if (auto amount = as_int(op.b); amount && *amount >= 0 && *amount < 63)
      return a * Poly(Integer(1) << *amount);
    break;
  case BinaryOp::shift_right: // [rule.swizzle.digits]
    if (auto amount = as_int(op.b); amount && *amount >= 0 && *amount < 63)
      return prover_.quotient(a, Poly(Integer(1) << *amount));
    break;
  default:
    break;
  }
  return prover_.fresh("data");
}

Poly Translator::integer(const Expr &e) {
  return e.visit(Overloaded{
      [&](const IntImm &x) { return Poly(x.value); },
      [&](const Var &x) { return value(x); },
      [&](const Binary &x) { return arithmetic(x); },
      [&](const Select &x) {
        return prover_.choose(condition(x.condition), integer(x.when_true), integer(x.when_false));
      },
      [&](const Cast &x) {
        if (!is_index(x.a.dtype()))
          return unknown(e);
        Poly a = integer(x.a);
        if (x.dtype == DType::i64)
          return a;
        Poly wrap(Integer(1) << 32), half(Integer(1) << 31); // [rule.range.cast]
        return prover_.remainder(a + half, wrap) - half;
      },
      [&](const auto &) { return unknown(e); },
  });
}

Formula Translator::condition(const Expr &e) {
  if (auto value = as_int(e))
    return truth(*value != 0);
  if (const auto *op = e.as<Binary>()) {
    if (op->op == BinaryOp::logical_and)
      return all({condition(op->a), condition(op->b)});
    if (op->op == BinaryOp::logical_or)
      return any({condition(op->a), condition(op->b)});
    if (is_comparison(op->op) && is_index(op->a.dtype())) {
      Poly a = integer(op->a), b = integer(op->b);
      return op->op == BinaryOp::lt   ? less(a, b)
             : op->op == BinaryOp::le ? less_equal(a, b)
             : op->op == BinaryOp::eq ? proofs::equal(a, b)
                                      : negate(proofs::equal(a, b));
    }
  }
  if (const auto *opposite = e.as<Not>())
    return negate(condition(opposite->a));
  if (const auto *choice = e.as<Select>()) {
    Formula c = condition(choice->condition);
    return any({all({c, condition(choice->when_true)}), all({negate(c), condition(choice->when_false)})});
  }
  return at_least_0(unknown(e) - Poly(1));
}

bool Translator::decided(const Expr &e, bool value) {
  Formula f = condition(e);
  return prover_.prove(value ? f : negate(f)).proved();
}

Verdict Translator::equal(const Expr &a, const Expr &b) {
  if (same(a, b))
    return {proved, ""};
  if (is_index(a.dtype()) && is_index(b.dtype()))
    return prover_.prove(proofs::equal(integer(a), integer(b)));
  if (a.dtype() == DType::boolean && b.dtype() == DType::boolean)
    return prover_.prove(iff(condition(a), condition(b)));
  return equal_data(a, b);
}

Verdict Translator::equal_data(const Expr &a, const Expr &b) {
  if (const auto *choice = a.as<Select>(); choice && !one_form(a, b))
    for (bool taken : {true, false})
      if (decided(choice->condition, taken))
        return equal(taken ? choice->when_true : choice->when_false, b);
  const auto *masked = a.as<Load>(), *plain = b.as<Load>();
  bool unmasked = masked && plain && masked->mask.exists() && !plain->mask.exists();
  if (unmasked && decided(masked->mask, true))
    return equal(load(masked->buffer, masked->indices, {}, {}, masked->lanes), b);
  std::vector<Expr> x = children(a), y = children(b);
  if (!one_form(a, b) || x.size() != y.size())
    return {};
  for (std::size_t n = 0; n < x.size(); ++n)
    if (Verdict verdict = equal(x[n], y[n]); !verdict.proved())
      return verdict;
  return {proved, ""};
}

} // namespace nestsmith::proofs
