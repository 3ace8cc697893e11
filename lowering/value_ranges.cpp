#include "lowering/value_ranges.h"

#include "dsl/expr/expr.h"
#include "dsl/hardware/vector_access.h"
#include "lowering/data_arithmetic.h"

#include <algorithm>
#include <limits>

namespace nestsmith::kernel {

namespace {

constexpr Range range_of_i32{std::numeric_limits<std::int32_t>::min(),
                             std::numeric_limits<std::int32_t>::max()};

bool is_in_i32(const std::optional<Range> &values) {
  return values && values->low >= range_of_i32.low && values->high <= range_of_i32.high;
}

bool is_unsigned_word(DType type) { return type == DType::u32 || type == DType::u64; }

bool is_sum_or_product(const Expr &e) {
  const auto *op = e.as<Binary>();
  return op && (op->op == BinaryOp::add || op->op == BinaryOp::sub || op->op == BinaryOp::mul);
}

/// Whether the call is a division or a shift of integers, which is index arithmetic if its operands are.
bool is_operation(const nestsmith::Call &made) {
  const auto *op = made.function->meaning.as<Binary>();
  return op && (op->op == BinaryOp::floordiv || op->op == BinaryOp::floormod || is_shift(op->op)) &&
         is_index(made.function->result);
}

/// The operands of such a call have no ranges.
bool takes_vectors(const nestsmith::Call &made) {
  return std::ranges::any_of(made.function->parameters,
                             [](const Var &parameter) { return parameter->lanes > 1; });
}

} // namespace

ValueRanges::ValueRanges(const Kernel &kernel) {
  for (const SizeParameter &size : kernel.sizes)
    wide_[size.var] = size.size;
  for (const ThreadIndex &index : kernel.indices) {
    add(index.var);
    bounds_.set_extent(wide_.at(index.var), index.extent);
    bounds_.set(wide_.at(index.var), index.range());
  }
  for (const Var &scalar : kernel.scalars)
    data_.insert(scalar.get());
}

void ValueRanges::add(const Var &var) { wide_[var] = make_var(var->name); }

void ValueRanges::define(const Declare &declare) {
  add(declare.var);
  if (is_data(declare.value))
    data_.insert(declare.var.get());
  if (is_unsigned_word(declare.var->dtype))
    if (auto values = range(declare.value))
      bounds_.set(declare.var, *values);
  if (!is_index(declare.var->dtype))
    return;
  if (!is_data(declare.value))
    values_[wide_.at(declare.var)] = declare.value;
  auto values = range(declare.value);
  if (declare.var->dtype == DType::i32 && !values)
    values = range_of_i32;
  if (values)
    bounds_.set(wide_.at(declare.var), *values);
}

void ValueRanges::define(const Loop &loop) {
  add(loop.var);
  bounds_.set_extent(wide_.at(loop.var), widened(loop.extent));
}

/// The index as computed in 64 bits, with sizes as stated.
Expr ValueRanges::widened(const Expr &e) const {
  return replace_nodes(e, [&](const Expr &node) {
    if (const auto *imm = node.as<IntImm>(); imm && is_index(imm->dtype))
      return int_imm(imm->value);
    if (const auto *conversion = node.as<Cast>();
        conversion && is_index(node.dtype()) && is_index(conversion->a.dtype())) {
      Expr wide = widened(conversion->a);
      bool keeps_value = node.dtype() == DType::i64 || is_in_i32(range_of(wide, bounds_));
      return keeps_value ? wide : cast(DType::i64, cast(DType::i32, wide));
    }
    if (const Var *var = node.as<Var>(); var && is_index(node.dtype()))
      return wide_.count(*var) ? Expr(wide_.at(*var)) : cast(DType::i64, node);
    const auto *made = node.as<nestsmith::Call>();
    bool of_vectors = made && takes_vectors(*made);
    if (made && !of_vectors && is_index(node.dtype()))
      return cast(DType::i64, in_place(*made));
    const auto *conversion = node.as<Cast>();
    if (conversion && is_unsigned_word(node.dtype()) && is_index(conversion->a.dtype()))
      return cast(node.dtype(), widened(conversion->a));
    bool value = of_vectors || node.as<Load>() || node.as<Lane>() || conversion;
    return !value ? Expr() : is_index(node.dtype()) ? cast(DType::i64, node) : node;
  });
}

/// The meaning of the called function on these arguments.
Expr ValueRanges::in_place(const nestsmith::Call &made) const {
  std::map<Var, Expr> arguments;
  for (std::size_t n = 0; n < made.arguments.size(); ++n)
    arguments[made.function->parameters[n]] = widened(made.arguments[n]);
  return substitute(made.function->meaning, arguments);
}

/// The index as computed in 64 bits, with the values of declared variables in their place.
Expr ValueRanges::resolved(const Expr &e) const {
  return substitute(widened(e), [&](const Var &var) {
    auto declared = values_.find(var);
    return declared == values_.end() ? Expr() : resolved(declared->second);
  });
}

bool ValueRanges::is_multiple_of(const Expr &e, std::int64_t divisor) const {
  return is_multiple(resolved(e), divisor, bounds_);
}

bool ValueRanges::is_data(const Expr &e) const {
  return any_node(e, [&](const Expr &node) {
    const Var *var = node.as<Var>();
    const auto *conversion = node.as<Cast>();
    const auto *made = node.as<nestsmith::Call>();
    return node.as<Load>() || node.as<Lane>() || (made && !is_operation(*made)) ||
           (conversion && is_index(conversion->dtype) && !is_index(conversion->a.dtype())) ||
           (var && data_.contains(var->get()));
  });
}

/// Interval arithmetic on the variables themselves, without the declared values.
std::optional<Range> ValueRanges::rough(const Expr &e) const {
  return rough_range(e, [&](const Var &var) -> std::optional<Range> {
    auto wide = data_.contains(var.get()) ? wide_.end() : wide_.find(var);
    return wide == wide_.end() ? std::nullopt : bounds_.find(wide->second);
  });
}

bool ValueRanges::may_exceed_i32(const Expr &e) const {
  return e.dtype() == DType::i32 && (is_sum_or_product(e) || e.as<Cast>()) && !is_in_i32(rough(e)) &&
         !is_data(e) && !is_in_i32(range(e));
}

bool ValueRanges::may_overflow(const Expr &e) const {
  if (!is_sum_or_product(e) || !is_index(e.dtype()) || !is_data(e))
    return false;
  auto values = range(e);
  return !values || (e.dtype() == DType::i32 && !is_in_i32(values));
}

bool ValueRanges::shifts_within(const Binary &op) const {
  return shifts_within_width(op.a.dtype(), as_int(op.b) ? Range{*as_int(op.b), *as_int(op.b)} : range(op.b));
}

bool ValueRanges::is_other_in_cpp(const Expr &e) const {
  const auto *op = e.as<Binary>();
  if (op && op->op == BinaryOp::shift_left && is_index(e.dtype()))
    return !shifts_left_plainly(e.dtype(), range(op->a), range(op->b));
  if (op && is_shift(op->op))
    return !shifts_within(*op);
  if (!op || !is_index(op->a.dtype()) || (op->op != BinaryOp::floordiv && op->op != BinaryOp::floormod))
    return false;
  if (auto divisor = as_int(op->b); divisor && *divisor > 0) {
    auto dividend = rough(op->a);
    if (dividend && dividend->low >= 0)
      return false;
  }
  auto dividend = range(op->a), divisor = range(op->b);
  return !dividend || dividend->low < 0 || !divisor || divisor->low < 1;
}

namespace {

class ResultDefiner {
public:
  explicit ResultDefiner(const Kernel &kernel) : values_(kernel) {}

  Stmt rewrite(const Stmt &stmt) {
    Stmt result = map_exprs(stmt, [&](const Expr &e) { return rewrite(e); });
    if (const auto *declare = as<Declare>(result))
      values_.define(*declare);
    if (const auto *loop = as<Loop>(result))
      values_.define(*loop);
    return map_children(result, [&](const Stmt &child) { return rewrite(child); });
  }

private:
  Expr rewrite(const Expr &e) const {
    return rebuild(e, [&](const Expr &node) {
      const auto *op = node.as<Binary>();
      bool exceeds = values_.may_exceed_i32(node);
      if (op && (exceeds || values_.may_overflow(node) || values_.is_other_in_cpp(node)))
        return defined_for_all_operands(op->op, node.dtype(), op->a, op->b,
                                        is_shift(op->op) && values_.shifts_within(*op));
      return exceeds ? cast(DType::i32, cast(DType::u64, node.as<Cast>()->a)) : node; // keeps the low bits
    });
  }

  ValueRanges values_;
};

} // namespace

/// Whether the kernel has integers that are data, conversions, results of calls or choices, or shifts of them.
/// Otherwise, the pass narrow_indices has proved the ranges of all operations.
static bool has_integer_data(const Kernel &kernel) {
  bool found = std::ranges::any_of(kernel.scalars, [](const Var &scalar) { return is_index(scalar->dtype); });
  walk_exprs(kernel.body, [&](const Expr &node) {
    bool chosen = node.as<Select>() && node.node().data; // by a boolean that is data
    bool data = chosen || node.as<Load>() || node.as<Lane>() || node.as<Cast>() || node.as<nestsmith::Call>();
    const auto *op = node.as<Binary>();
    bool shifts = op && is_shift(op->op) && !as_int(op->b);
    found = found || shifts || (data && is_index(node.dtype()));
  });
  return found;
}

Stmt with_defined_results(const Kernel &kernel) {
  return has_integer_data(kernel) ? ResultDefiner(kernel).rewrite(kernel.body) : kernel.body;
}

void replace_body(Kernel &kernel, Stmt body) {
  if (body == kernel.body)
    return;
  kernel.body = std::move(body);
  kernel.body = with_defined_results(kernel);
}

} // namespace nestsmith::kernel
