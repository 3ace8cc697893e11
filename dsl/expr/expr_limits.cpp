#include "dsl/expr/expr_limits.h"

#include "dsl/expr/ops.h"

#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>
#include <limits>
#include <unordered_map>

namespace nestsmith {

namespace {

/// The smallest range that contains the numbers.
Range hull(std::initializer_list<std::int64_t> numbers) { return {std::min(numbers), std::max(numbers)}; }
Range hull(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

/// The result of an operation with a divisor that is not 0, or none if it is always 0. `f` takes a range of
/// divisors of one sign.
template <class F> std::optional<Range> for_each_sign(Range divisor, const F &f) {
  std::optional<Range> result;
  for (Range part : {Range{divisor.low, std::min<std::int64_t>(divisor.high, -1)},
                     Range{std::max<std::int64_t>(divisor.low, 1), divisor.high}})
    if (part.low <= part.high)
      result = result ? hull(*result, f(part)) : f(part);
  return result;
}

Range quotient(Range a, Range b) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  auto result = for_each_sign(b, [&](Range part) -> Range {
    if (a.low == least && part.high == -1) // -least wraps around
      return {least, std::numeric_limits<std::int64_t>::max()};
    return hull({floor_div(a.low, part.low), floor_div(a.low, part.high), floor_div(a.high, part.low),
                 floor_div(a.high, part.high)});
  });
  bool by_zero = b.low <= 0 && b.high >= 0;
  return !result ? Range{0, 0} : by_zero ? hull(*result, {0, 0}) : *result;
}

Range remainder(Range a, Range b) {
  auto result = for_each_sign(b, [&](Range part) -> Range {
    if (part.low > 0)
      return {0, a.low >= 0 ? std::min(a.high, part.high - 1) : part.high - 1};
    return {a.high <= 0 ? std::max(a.low, part.low + 1) : part.low + 1, 0};
  });
  bool by_zero = b.low <= 0 && b.high >= 0;
  return !result ? a : by_zero ? hull(*result, a) : *result;
}

/// The corners of a sum, difference or product; none if one of them overflows.
template <class F> std::optional<Range> corners(Range a, Range b, const F &overflows) {
  std::optional<Range> result;
  for (std::int64_t x : {a.low, a.high})
    for (std::int64_t y : {b.low, b.high}) {
      std::int64_t value = 0;
      if (overflows(x, y, &value))
        return std::nullopt;
      result = result ? hull(*result, {value, value}) : Range{value, value};
    }
  return result;
}

/// The values of an operation on index arithmetic; none if one of them overflows.
std::optional<Range> values_of(BinaryOp op, Range a, Range b) {
  using Number = std::int64_t;
  switch (op) {
  case BinaryOp::add:
    return corners(a, b, [](Number x, Number y, Number *z) { return __builtin_add_overflow(x, y, z); });
  case BinaryOp::sub:
    return corners(a, b, [](Number x, Number y, Number *z) { return __builtin_sub_overflow(x, y, z); });
  case BinaryOp::mul:
    return corners(a, b, [](Number x, Number y, Number *z) { return __builtin_mul_overflow(x, y, z); });
  case BinaryOp::floordiv:
    return quotient(a, b);
  case BinaryOp::floormod:
    return remainder(a, b);
  case BinaryOp::min:
    return Range{std::min(a.low, b.low), std::min(a.high, b.high)};
  case BinaryOp::max:
    return Range{std::max(a.low, b.low), std::max(a.high, b.high)};
  case BinaryOp::shift_left:
    return range_of_bits(op, DType::i64, a, b);
  default: // the other operators on bits have a result for all operands
    return range_of_bits(op, DType::i64, a, b)
        .value_or(Range{std::numeric_limits<Number>::min(), std::numeric_limits<Number>::max()});
  }
}

} // namespace

std::optional<std::string> too_large(const Expr &e) {
  if (e.node().depth > max_depth)
    return fmt::format("is {} operations deep, expected at most {}; write a long sum as a sum of sums of about "
                       "equal length, or compute a part of it in a stage of its own",
                       e.node().depth, max_depth);
  std::size_t nodes = 0;
  walk(e, [&](const Expr &) { ++nodes; });
  if (nodes > max_nodes)
    return fmt::format("is made of {} operations and operands, expected at most {}; compute a part of it in a "
                       "stage of its own",
                       nodes, max_nodes);
  return std::nullopt;
}

Expr index_out_of_range(const Expr &e, const Bounds &bounds) {
  std::unordered_map<const ExprNode *, Range> values; // of the nodes whose values are known
  Expr found;
  walk_up(e, [&](const Expr &node) {
    if (found.exists() || node.dtype() != DType::i64 || node.node().data)
      return;
    auto known = [&](const Expr &operand) {
      auto it = values.find(operand.get());
      return it == values.end() ? std::nullopt : std::optional(it->second);
    };
    std::optional<Range> range;
    if (const auto *imm = node.as<IntImm>())
      range = Range{imm->value, imm->value};
    else if (const Var *var = node.as<Var>())
      range = (*var)->size ? std::optional(Range{(*var)->size->min, (*var)->size->min}) : bounds.find(*var);
    else if (const auto *choice = node.as<Select>()) {
      auto a = known(choice->when_true), b = known(choice->when_false);
      if (a && b)
        range = hull(*a, *b);
    } else if (const auto *op = node.as<Binary>()) {
      auto a = known(op->a), b = known(op->b);
      if (a && b)
        range = values_of(op->op, *a, *b);
      if (a && b && !range)
        found = node;
    }
    if (range)
      values.emplace(node.get(), *range);
  });
  return found;
}

} // namespace nestsmith
