#include "runtime/sim/values.h"

#include "dsl/expr/error.h"
#include "dsl/expr/numbers.h"

#include <algorithm>
#include <cstring>

namespace nestsmith::sim {

namespace {

using Wide = __int128;

std::int64_t times(std::int64_t a, std::int64_t b) { return arithmetic<BinaryOp::mul>(a, b); }
std::int64_t plus(std::int64_t a, std::int64_t b) { return arithmetic<BinaryOp::add>(a, b); }

template <class T> std::int64_t apply_as(BinaryOp op, std::int64_t a, std::int64_t b) {
  auto x = static_cast<T>(a), y = static_cast<T>(b);
  return with_op(op, [&]<BinaryOp o>() -> std::int64_t {
    if constexpr (o == BinaryOp::logical_and)
      return a && b;
    else if constexpr (o == BinaryOp::logical_or)
      return a || b;
    else if constexpr (is_comparison(o))
      return compare<o>(x, y);
    else if constexpr (!is_defined_on<o, T>())
      internal_error("integers have floordiv, not div");
    else
      return static_cast<std::int64_t>(arithmetic<o>(x, y));
  });
}

std::int64_t apply(BinaryOp op, DType dtype, std::int64_t a, std::int64_t b) {
  switch (dtype) {
  case DType::i32:
    return apply_as<std::int32_t>(op, a, b);
  case DType::u32:
    return apply_as<std::uint32_t>(op, a, b);
  case DType::u64:
    return apply_as<std::uint64_t>(op, a, b);
  default:
    return apply_as<std::int64_t>(op, a, b);
  }
}

std::optional<Range> within(DType dtype, Wide low, Wide high) {
  Wide limit = Wide{1} << (dtype == DType::i32 ? 31 : 63);
  if (low < -limit || high >= limit)
    return std::nullopt;
  return Range{static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)};
}

} // namespace

Values::Values(const HandlerTable &handlers, DecodedKernel &decoded) : handlers_(handlers), decoded_(decoded) {
  scopes.emplace_back();
  decoded_.frame_bytes = 64; // holds the registers at the start of every frame
  auto init = [&](std::uint32_t reg, std::uint64_t bits) {
    FrameInit init{reg, 8, std::vector<std::byte>(8)};
    std::memcpy(init.content.data(), &bits, 8);
    decoded_.inits.push_back(std::move(init));
  };
  init(zero_register, 0);
  init(all_lanes_register, ~std::uint64_t{0});
}

ValueId Values::add(Value value) {
  values_.push_back(std::move(value));
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Values::constant(DType dtype, std::int64_t bits) {
  auto [it, fresh] = known_.try_emplace({Recipe::constant, BinaryOp::add, dtype, 0, 0, 0, bits}, 0);
  if (!fresh)
    return it->second;
  Value v{.dtype = dtype, .constant = bits, .recipe = Recipe::constant, .imm = bits};
  if (!is_float(dtype))
    v.range = Range{bits, bits};
  return it->second = add(std::move(v));
}

/// A value for each thread. The lanes of the last warp that have no thread have values too.
ValueId Values::table(DType dtype, std::vector<std::int64_t> content) {
  if (std::all_of(content.begin(), content.end(), [&](std::int64_t v) { return v == content.front(); }))
    return constant(dtype, content.front());
  if (auto it = tables_.find({dtype, content}); it != tables_.end())
    return it->second;
  Value v{.dtype = dtype, .recipe = Recipe::table};
  for (std::size_t t = 0; t < content.size(); ++t)
    v.uniform = v.uniform && content[t] == content[t / warp_size * warp_size];
  auto [low, high] = std::minmax_element(content.begin(), content.end());
  v.range = Range{*low, *high};
  v.table = content;
  return tables_[{dtype, std::move(content)}] = add(std::move(v));
}

ValueId Values::thread_index(std::size_t dimension, DType dtype) {
  auto [x, y, z] = decoded_.block;
  std::vector<std::int64_t> content(std::size_t{decoded_.warps} * warp_size);
  for (std::size_t t = 0; t < content.size(); ++t) {
    // A lane without a thread computes the same as the first lane of its warp.
    auto thread = static_cast<std::int64_t>(t < decoded_.threads ? t : t / warp_size * warp_size);
    content[t] = dimension == 0 ? thread % x : dimension == 1 ? thread / x % y : thread / (x * y);
  }
  return table(dtype, std::move(content));
}

ValueId Values::block_index(std::size_t dimension, DType dtype) {
  std::int64_t extent = decoded_.grid[dimension];
  if (extent == 1)
    return constant(dtype, 0);
  return make({.dtype = dtype,
               .range = Range{0, extent - 1},
               .recipe = Recipe::block_index,
               .imm = static_cast<std::int64_t>(dimension)});
}

ValueId Values::given(Value value) {
  value.recipe = Recipe::given;
  return add(std::move(value));
}

/// Adds a value. Its scope, uniformity and pinning follow from its operands. Equal values share one entry
/// unless they are pinned.
ValueId Values::make(Value v) {
  if (v.recipe == Recipe::binary && values_[v.a].uniform != values_[v.b].uniform) {
    v.a = splat(v.a);
    v.b = splat(v.b);
  }
  auto from = [&](ValueId id) {
    v.scope = std::max(v.scope, values_[id].scope);
    v.pinned = v.pinned || values_[id].pinned;
    v.uniform = v.uniform && values_[id].uniform;
  };
  switch (v.recipe) {
  case Recipe::select:
  case Recipe::multiply_add:
  case Recipe::function:
    from(v.c);
    [[fallthrough]];
  case Recipe::binary:
    from(v.b);
    [[fallthrough]];
  case Recipe::complement:
  case Recipe::cast:
  case Recipe::splat:
  case Recipe::alias:
    from(v.a);
    break;
  case Recipe::given:
  case Recipe::constant:
  case Recipe::table:
  case Recipe::sum:
  case Recipe::block_index:
    break;
  }
  if (v.recipe == Recipe::splat)
    v.uniform = false;
  if (v.pinned)
    return add(std::move(v));
  Key key{v.recipe, v.op, v.dtype, v.a, v.b, v.c, v.imm};
  if (auto it = known_.find(key); it != known_.end())
    return it->second;
  return known_[key] = add(std::move(v));
}

std::int64_t Values::at(ValueId id, std::size_t thread) const {
  const Value &v = values_[id];
  return v.constant ? *v.constant : v.table[thread];
}

/// Computes an operation on constants, or on values that depend on the thread only, while decoding.
ValueId Values::fold(BinaryOp op, ValueId a, ValueId b) {
  DType dtype = values_[a].dtype, result = yields_boolean(op) ? DType::boolean : dtype;
  if (values_[a].constant && values_[b].constant)
    return constant(result, apply(op, dtype, *values_[a].constant, *values_[b].constant));
  auto [it, fresh] = known_.try_emplace({Recipe::table, op, dtype, a, b, 0, 0}, 0);
  ValueId &id = it->second; // stays in its place when `table` adds others
  if (!fresh)
    return id;
  std::vector<std::int64_t> content(std::size_t{decoded_.warps} * warp_size);
  for (std::size_t t = 0; t < content.size(); ++t)
    content[t] = apply(op, dtype, at(a, t), at(b, t));
  return id = table(result, std::move(content));
}

ValueId Values::logical(BinaryOp op, ValueId a, ValueId b) {
  bool is_and = op == BinaryOp::logical_and;
  if (is_and || op == BinaryOp::logical_or) {
    if (values_[a].constant)
      return (*values_[a].constant != 0) == is_and ? b : a;
    if (values_[b].constant)
      return (*values_[b].constant != 0) == is_and ? a : b;
  }
  return make({.dtype = DType::boolean, .recipe = Recipe::binary, .op = op, .a = a, .b = b});
}

ValueId Values::binary(BinaryOp op, ValueId a, ValueId b) {
  const Value &x = values_[a], &y = values_[b];
  DType dtype = x.dtype;
  internal_check(dtype == y.dtype, "the operands of a binary expression differ in dtype");
  auto known = [](const Value &v) { return !is_float(v.dtype) && (v.constant || !v.table.empty()); };
  if (known(x) && known(y))
    return fold(op, a, b);
  if (dtype == DType::boolean)
    return logical(op, a, b);
  if (is_index(dtype) && (op == BinaryOp::add || op == BinaryOp::sub || op == BinaryOp::mul)) {
    Sum left = as_sum(a), right = as_sum(b), result;
    if (op != BinaryOp::mul) {
      std::int64_t sign = op == BinaryOp::add ? 1 : -1;
      for (auto [term, coefficient] : right.terms)
        left.terms[term] = plus(left.terms[term], times(sign, coefficient));
      left.constant = plus(left.constant, times(sign, right.constant));
      return sum(dtype, std::move(left));
    }
    // (x + c) * (y + d) is expanded term by term if the result stays short.
    if (left.terms.size() * right.terms.size() <= 8) {
      for (auto [s, p] : left.terms)
        for (auto [t, q] : right.terms) {
          ValueId product = known(values_[s]) && known(values_[t])
                                ? fold(op, s, t)
                                : make({.dtype = dtype,
                                        .range = range_of(op, values_[s], values_[t]),
                                        .recipe = Recipe::binary,
                                        .op = op,
                                        .a = std::min(s, t),
                                        .b = std::max(s, t)});
          result.terms[product] = plus(result.terms[product], times(p, q));
        }
      for (auto [s, p] : left.terms)
        result.terms[s] = plus(result.terms[s], times(p, right.constant));
      for (auto [t, q] : right.terms)
        result.terms[t] = plus(result.terms[t], times(q, left.constant));
      result.constant = times(left.constant, right.constant);
      return sum(dtype, std::move(result));
    }
  }
  return make({.dtype = yields_boolean(op) ? DType::boolean : dtype,
               .range = range_of(op, x, y),
               .recipe = Recipe::binary,
               .op = op,
               .a = a,
               .b = b});
}

Sum Values::as_sum(ValueId id) const {
  const Value &v = values_[id];
  if (v.constant)
    return {.terms = {}, .constant = *v.constant};
  if (v.recipe == Recipe::sum)
    return v.sum;
  return {.terms = {{id, 1}}, .constant = 0};
}

ValueId Values::sum(DType dtype, Sum s) {
  if (s.terms.empty())
    return constant(dtype, wrapped(dtype, s.constant));
  if (auto it = sums_.find({dtype, s}); it != sums_.end())
    return it->second;
  const ValueId id = reduced(dtype, s);
  if (!values_[id].pinned)
    sums_.try_emplace({dtype, std::move(s)}, id);
  return id;
}

/// Combines the terms that depend only on the thread into at most two tables: one of uniform terms, and one of
/// terms that differ between lanes.
ValueId Values::reduced(DType dtype, const Sum &s) {
  std::vector<std::int64_t> parts[2]; // in lanes, uniform
  Sum rest{.terms = {}, .constant = s.constant};
  for (auto [term, coefficient] : s.terms) {
    const Value &v = values_[term];
    if (v.constant) {
      rest.constant = plus(rest.constant, times(coefficient, *v.constant));
    } else if (!v.table.empty()) {
      std::vector<std::int64_t> &part = parts[v.uniform];
      part.resize(v.table.size());
      for (std::size_t t = 0; t < part.size(); ++t)
        part[t] = wrapped(dtype, plus(part[t], times(coefficient, v.table[t])));
    } else if (wrapped(dtype, coefficient) != 0) {
      rest.terms[term] = wrapped(dtype, coefficient);
    }
  }
  for (std::vector<std::int64_t> &part : parts) {
    if (part.empty())
      continue;
    ValueId id = table(dtype, std::move(part));
    if (values_[id].constant)
      rest.constant = plus(rest.constant, *values_[id].constant);
    else
      rest.terms[id] = 1;
  }
  rest.constant = wrapped(dtype, rest.constant);
  if (rest.terms.empty())
    return constant(dtype, rest.constant);
  if (rest.terms.size() == 1 && rest.constant == 0 && rest.terms.begin()->second == 1)
    return rest.terms.begin()->first;
  Value v{.dtype = dtype, .range = range_of(rest, dtype), .recipe = Recipe::sum};
  for (auto [term, coefficient] : rest.terms) {
    v.scope = std::max(v.scope, values_[term].scope);
    v.uniform = v.uniform && values_[term].uniform;
    v.pinned = v.pinned || values_[term].pinned;
  }
  v.sum = rest;
  if (v.pinned)
    return add(std::move(v));
  auto [it, fresh] = sums_.try_emplace({dtype, std::move(rest)}, 0);
  if (fresh)
    it->second = add(std::move(v));
  return it->second;
}

std::optional<Range> Values::range_of(const Sum &s, DType dtype) const {
  Wide low = s.constant, high = s.constant;
  for (auto [term, coefficient] : s.terms) {
    const auto &range = values_[term].range;
    if (!range)
      return std::nullopt;
    Wide x = Wide{range->low} * coefficient, y = Wide{range->high} * coefficient;
    low += std::min(x, y);
    high += std::max(x, y);
    if (low < -(Wide{1} << 80) || high > Wide{1} << 80)
      return std::nullopt;
  }
  return within(dtype, low, high);
}

std::optional<Range> Values::range_of(BinaryOp op, const Value &a, const Value &b) const {
  if (!is_index(a.dtype) || !a.range || !b.range)
    return std::nullopt;
  Wide p = a.range->low, q = a.range->high, r = b.range->low, s = b.range->high;
  switch (op) {
  case BinaryOp::mul:
    return within(a.dtype, std::min({p * r, p * s, q * r, q * s}), std::max({p * r, p * s, q * r, q * s}));
  case BinaryOp::floordiv:
    if (r > 0 && p >= 0)
      return Range{floor_div(a.range->low, b.range->high), floor_div(a.range->high, b.range->low)};
    return std::nullopt;
  case BinaryOp::floormod:
    if (r > 0)
      return Range{0, p >= 0 ? std::min(a.range->high, b.range->high - 1) : b.range->high - 1};
    return std::nullopt;
  case BinaryOp::min:
    return Range{std::min(a.range->low, b.range->low), std::min(a.range->high, b.range->high)};
  case BinaryOp::max:
    return Range{std::max(a.range->low, b.range->low), std::max(a.range->high, b.range->high)};
  default:
    return is_bitwise(op) ? range_of_bits(op, a.dtype, a.range, b.range) : std::nullopt;
  }
}

ValueId Values::complement(ValueId a) {
  const Value &v = values_[a];
  if (v.constant)
    return boolean(*v.constant == 0);
  if (!v.table.empty())
    return fold(BinaryOp::ne, a, boolean(true));
  return make({.dtype = DType::boolean, .recipe = Recipe::complement, .a = a});
}

ValueId Values::splat(ValueId a) {
  if (!values_[a].uniform)
    return a;
  return make({.dtype = values_[a].dtype, .recipe = Recipe::splat, .a = a});
}

ValueId Values::select(ValueId condition, ValueId when_true, ValueId when_false) {
  if (values_[condition].constant)
    return *values_[condition].constant ? when_true : when_false;
  if (!values_[condition].uniform || !values_[when_true].uniform || !values_[when_false].uniform) {
    condition = splat(condition);
    when_true = splat(when_true);
    when_false = splat(when_false);
  }
  return make({.dtype = values_[when_true].dtype,
               .recipe = Recipe::select,
               .a = condition,
               .b = when_true,
               .c = when_false});
}

ValueId Values::cast(DType dtype, ValueId a) {
  const Value v = values_[a];
  if (v.dtype == dtype)
    return a;
  if (is_index(dtype) && is_index(v.dtype)) {
    if (v.constant)
      return constant(dtype, wrapped(dtype, *v.constant));
    if (!v.table.empty()) {
      std::vector<std::int64_t> content = v.table;
      for (std::int64_t &element : content)
        element = wrapped(dtype, element);
      return table(dtype, std::move(content));
    }
    // Narrowing commutes with sums. Widening commutes with a sum if the sum provably did not wrap.
    if (v.recipe == Recipe::sum && (dtype == DType::i32 || v.range)) {
      Sum result{.terms = {}, .constant = v.sum.constant};
      for (auto [term, coefficient] : v.sum.terms) {
        ValueId id = cast(dtype, term);
        result.terms[id] = plus(result.terms[id], coefficient);
      }
      return sum(dtype, std::move(result));
    }
  }
  Value result{.dtype = dtype, .recipe = Recipe::cast, .a = a};
  if (is_index(dtype) && is_index(v.dtype) && v.range)
    result.range = within(dtype, v.range->low, v.range->high);
  if (dtype == DType::i64 && v.dtype == DType::i32 && v.uniform)
    result.recipe = Recipe::alias; // uniform registers hold i32 sign-extended
  return make(std::move(result));
}

ValueId Values::multiply_add(ValueId x, ValueId a, ValueId b) {
  if (values_[a].uniform && values_[b].uniform)
    return binary(BinaryOp::add, x, binary(BinaryOp::mul, a, b));
  if (values_[b].uniform)
    std::swap(a, b);
  return make({.dtype = values_[x].dtype, .recipe = Recipe::multiply_add, .a = a, .b = b, .c = splat(x)});
}

/// Operands that the function does not have are its first one.
ValueId Values::function(const MathFunction &function, std::vector<ValueId> operands) {
  bool uniform = std::ranges::all_of(operands, [&](ValueId id) { return values_[id].uniform; });
  if (!uniform)
    std::ranges::transform(operands, operands.begin(), [&](ValueId id) { return splat(id); });
  operands.resize(3, operands.front());
  return make({.dtype = values_[operands.front()].dtype,
               .recipe = Recipe::function,
               .a = operands[0],
               .b = operands[1],
               .c = operands[2],
               .imm = static_cast<std::int64_t>(index_of(function))});
}

} // namespace nestsmith::sim
