#include "dsl/expr/error.h"
#include "dsl/expr/expr.h"
#include "runtime/sim/decoder.h"

#include <utility>

namespace nestsmith::sim {

ValueId Decoder::value(const Expr &e, Guard guard) {
  std::uint32_t hint = hint_;
  if (!e.as<Load>())
    hint_ = no_register;
  return e.visit(Overloaded{
      [&](const IntImm &x) { return values_.constant(x.dtype, x.value); },
      [&](const FloatImm &x) {
        Scalar number = options_.arithmetic == Arithmetic::floating
                            ? Scalar::from_double(x.dtype, x.value)
                            : constant_of(options_.arithmetic, x.dtype, x.value);
        return values_.constant(x.dtype, static_cast<std::int64_t>(number.bits));
      },
      [&](const Var &x) {
        auto it = variables_.find(x);
        internal_check(it != variables_.end(), "a kernel uses a variable that it does not declare");
        return it->second;
      },
      [&](const Binary &x) { return binary(x, guard); },
      [&](const Not &x) { return values_.complement(value(x.a, guard)); },
      [&](const Select &x) {
        ValueId condition = value(x.condition, guard), when_true = value(x.when_true, guard);
        return values_.select(condition, when_true, value(x.when_false, guard));
      },
      [&](const Cast &x) { return values_.cast(x.dtype, value(x.a, guard)); },
      [&](const Load &x) {
        hint_ = hint;
        return load(x, guard);
      },
      [&](const Lane &x) { return vectors_.at(x.vector).at(static_cast<std::size_t>(x.index)); },
      [](const Pack &) -> ValueId { internal_error("a vector where one value is wanted"); },
      [&](const Call &x) { return call(x, guard); },
      [](const Tuple &) -> ValueId { internal_error("a tuple after the pass flatten"); },
      [](const Part &) -> ValueId { internal_error("a part of a tuple after the pass flatten"); },
  });
}

std::vector<ValueId> Decoder::vector(const Expr &e, Guard guard) {
  std::vector<ValueId> lanes;
  if (const Var *var = e.as<Var>())
    return vectors_.at(*var);
  if (const auto *made = e.as<Pack>())
    for (const Expr &element : made->lanes)
      lanes.push_back(value(element, guard));
  else if (const auto *access = e.as<Load>())
    for (int n = 0; n < access->lanes; ++n)
      lanes.push_back(load_element(*access, guard, n));
  return lanes;
}

/// All elements use the address of the first, so its integer operations count once.
ValueId Decoder::load_element(const Load &vector, Guard guard, int n) {
  std::uint64_t integer = decoded_.regions[region_].integer;
  ValueId element = load(vector, guard, n);
  if (n > 0)
    decoded_.regions[region_].integer = integer;
  return element;
}

/// Decodes the meaning of a function that is no row of dsl/expr/math_functions.h, with the arguments in the
/// place of the parameters.
ValueId Decoder::call(const Call &e, Guard guard) {
  // All arguments first: an argument may be a call of the same function.
  std::vector<std::vector<ValueId>> arguments;
  for (const Expr &argument : e.arguments)
    arguments.push_back(argument.lanes() > 1 ? vector(argument, guard) : std::vector{value(argument, guard)});
  if (e.function->math) {
    count(e.function->result, &RegionCounts::floating);
    std::vector<ValueId> operands;
    for (const std::vector<ValueId> &argument : arguments)
      operands.push_back(argument.front());
    return values_.function(*e.function->math, std::move(operands));
  }
  for (std::size_t n = 0; n < arguments.size(); ++n) {
    const Var &parameter = e.function->parameters[n];
    if (parameter->lanes > 1)
      vectors_[parameter] = std::move(arguments[n]);
    else
      variables_[parameter] = arguments[n].front();
  }
  return value(e.function->meaning, guard);
}

ValueId Decoder::binary(const Binary &e, Guard guard) {
  if (is_logical(e.op)) {
    ValueId a = value(e.a, guard);
    if (!reads_memory(e.b))
      return values_.binary(e.op, a, value(e.b, guard));
    // The loads of the right side happen if the left side does not decide the result.
    Guard undecided = both(guard, e.op == BinaryOp::logical_and ? a : values_.complement(a));
    return values_.binary(e.op, a, value(e.b, undecided));
  }
  DType dtype = e.a.dtype();
  if (e.op == BinaryOp::add && has_multiply_add(dtype)) {
    const auto *right = e.b.as<Binary>(), *left = e.a.as<Binary>();
    if (right && right->op == BinaryOp::mul)
      return scaled_sum(e.a, *right, guard);
    if (left && left->op == BinaryOp::mul)
      return scaled_sum(e.b, *left, guard);
  }
  count(dtype, is_float(dtype) ? &RegionCounts::floating : &RegionCounts::integer);
  ValueId a = value(e.a, guard);
  return values_.binary(e.op, a, value(e.b, guard));
}

ValueId Decoder::scaled_sum(const Expr &x, const Binary &product, Guard guard) {
  ValueId term = value(x, guard), a = value(product.a, guard);
  count(product.a.dtype(), &RegionCounts::multiply_adds);
  return values_.multiply_add(term, a, value(product.b, guard));
}

ValueId Decoder::unknown(DType dtype) {
  return values_.given({.dtype = dtype, .uniform = true, .pinned = true, .reg = zero_register});
}

void Decoder::needs(ValueId id) { decoded_.depends_on_data = decoded_.depends_on_data || values_[id].pinned; }

ValueId Decoder::load(const Load &e, Guard guard, int n) {
  std::uint32_t hint = std::exchange(hint_, no_register);
  internal_check(e.indices.size() == 1, "an access of a kernel has one index, an element offset");
  std::optional<ValueId> mask, fill;
  const bool whole_address = std::exchange(whole_address_, false); // not of the loads in the address
  const Guard exists = std::exchange(exists_, std::nullopt);
  Guard inner = guard, of_address = guard;
  if (e.mask.exists() || exists) {
    mask = e.mask.exists() ? both(exists, value(e.mask, guard)) : *exists;
    inner = both(guard, *mask);
    of_address = whole_address ? guard : inner;
    const Expr filled_by = e.fill.exists() ? e.fill : constant(e.buffer->dtype, 0);
    fill = value(filled_by, reads_memory(filled_by) ? both(guard, values_.complement(*mask)) : guard);
    if (values_.is_constant(*mask, 0)) {
      // Arithmetic counts as written in the text, even if its value is known while decoding.
      if (whole_address || !reads_memory(e.indices[0]))
        (void)value(e.indices[0], of_address);
      return *fill;
    }
  }
  if (!computes() && n > 0)
    return unknown(e.buffer->dtype);
  ValueId index = value(e.indices[0], of_address);
  if (!computes() && e.buffer->scope == Scope::local)
    return unknown(e.buffer->dtype);
  if (n > 0)
    index = values_.binary(BinaryOp::add, index, values_.constant(values_[index].dtype, n));
  Access &access = make_access(e.buffer, &e, index);
  if (computes() && n == 0 && e.buffer->scope == Scope::shared && access.storage.shared().of_bulk &&
      !units_read_)
    values_.emit({.run = note_tile_read, .c = access.storage.slot});
  bool masked = inner && !values_.is_constant(*inner, 1), filled = mask && !values_.is_constant(*mask, 1);
  if (auto element = values_[index].constant; e.buffer->scope == Scope::local && element && !masked &&
                                              *element >= 0 && *element < access.storage.elements) {
    if (access.checked && !written_.contains({e.buffer, *element}))
      values_.emit({.run = handlers_.check_written, .access = &access});
    return values_.given({.dtype = e.buffer->dtype,
                          .uniform = false,
                          .pinned = true,
                          .reg = access.storage.local().element(*element)});
  }
  bool uniform = e.buffer->scope != Scope::local && access.address.is_uniform();
  if (filled)
    uniform = uniform && values_[*mask].uniform && values_[*fill].uniform;
  if (!uniform && access.address.is_uniform() && e.buffer->scope != Scope::local) {
    access.address.lane_offset = one_address();
  }
  access.counted = masked && n == 0;
  access.bytes *= n == 0 ? e.lanes : 1;
  if (masked) {
    needs(*inner);
    access.mask = values_.reg(values_.splat(*inner));
  }
  if (!computes()) {
    count(access, masked);
    return unknown(e.buffer->dtype);
  }
  if (filled)
    access.fill = in_register(*fill);
  bool into_hint = hint != no_register && !uniform && !guard && e.buffer->scope != Scope::local;
  access.value = {into_hint ? hint : values_.allocate_temporary(e.buffer->dtype, uniform), uniform};
  if (n == 0)
    count(access, masked);
  if (e.lanes > 1 && n == 0)
    first_of_vector(access, e.lanes);
  values_.emit({.run = handlers_.load(access), .access = &access});
  return values_.given({.dtype = e.buffer->dtype, .uniform = uniform, .pinned = true, .reg = access.value.at});
}

} // namespace nestsmith::sim
