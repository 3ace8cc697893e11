#include "dsl/expr/error.h"
#include "dsl/expr/expr.h"
#include "runtime/sim/decoder.h"

#include <algorithm>
#include <utility>

namespace nestsmith::sim {

namespace {

Pattern make_pattern(const std::int64_t *offsets, std::uint32_t live) {
  Pattern p{};
  p.low = p.high = offsets[0];
  p.distinct = true;
  p.contiguous = live == warp_size;
  std::map<std::int32_t, int> groups;
  for (std::uint32_t l = 0; l < warp_size; ++l) {
    std::int64_t offset = l < live ? offsets[l] : offsets[0];
    p.offset[l] = static_cast<std::int32_t>(offset);
    if (l >= live)
      continue;
    p.low = std::min(p.low, offset);
    p.high = std::max(p.high, offset);
    p.contiguous = p.contiguous && offset == offsets[0] + l;
    auto [it, fresh] = groups.try_emplace(p.offset[l], p.groups);
    auto group = static_cast<std::size_t>(it->second);
    if (fresh) {
      p.lane[group] = static_cast<std::uint8_t>(l);
      ++p.groups;
    } else {
      p.shared_by_many[group] = true;
      p.distinct = false;
    }
  }
  return p;
}

} // namespace

// ---- expressions ---------------------------------------------------------------------------------

ValueId Decoder::value(const Expr &e, Guard guard) {
  std::uint32_t hint = hint_;
  if (!e.as<Load>())
    hint_ = no_register;
  return e.visit(Overloaded{
      [&](const IntImm &x) { return values_.constant(x.dtype, x.value); },
      [&](const FloatImm &x) {
        return values_.constant(x.dtype, static_cast<std::int64_t>(Scalar::from_double(x.dtype, x.value).bits));
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
  std::uint64_t integer = program_.regions[region_].integer;
  ValueId element = load(vector, guard, n);
  if (n > 0)
    program_.regions[region_].integer = integer;
  return element;
}

/// Decodes the meaning of the function, with the arguments in the place of the parameters.
ValueId Decoder::call(const Call &e, Guard guard) {
  // All arguments first: an argument may be a call of the same function.
  std::vector<std::vector<ValueId>> arguments;
  for (const Expr &argument : e.arguments)
    arguments.push_back(argument.lanes() > 1 ? vector(argument, guard) : std::vector{value(argument, guard)});
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
  if (e.op == BinaryOp::add && (dtype == DType::f32 || dtype == DType::u32)) {
    const auto *right = e.b.as<Binary>(), *left = e.a.as<Binary>();
    if (right && right->op == BinaryOp::mul)
      return scaled_sum(e.a, *right, guard);
    if (left && left->op == BinaryOp::mul)
      return scaled_sum(e.b, *left, guard);
  }
  ++(is_float(dtype) ? program_.regions[region_].floating : program_.regions[region_].integer);
  ValueId a = value(e.a, guard);
  return values_.binary(e.op, a, value(e.b, guard));
}

ValueId Decoder::scaled_sum(const Expr &x, const Binary &product, Guard guard) {
  ValueId term = value(x, guard), a = value(product.a, guard);
  ++program_.regions[region_].multiply_adds;
  return values_.multiply_add(term, a, value(product.b, guard));
}

ValueId Decoder::unknown(DType dtype) {
  return values_.given({.dtype = dtype, .uniform = true, .pinned = true, .reg = zero_register});
}

void Decoder::needs(ValueId id) { program_.depends_on_data = program_.depends_on_data || values_[id].pinned; }

ValueId Decoder::load(const Load &e, Guard guard, int n) {
  std::uint32_t hint = std::exchange(hint_, no_register);
  internal_check(e.indices.size() == 1, "an access of a kernel has one index, an element offset");
  std::optional<ValueId> mask, fill;
  Guard inner = guard;
  if (e.mask.exists()) {
    mask = value(e.mask, guard);
    inner = both(guard, *mask);
    fill = value(e.fill, reads_memory(e.fill) ? both(guard, values_.complement(*mask)) : guard);
    if (values_.is_constant(*mask, 0)) {
      // Arithmetic counts as written in the text, even if its value is known while decoding.
      if (!reads_memory(e.indices[0]))
        (void)value(e.indices[0], inner);
      return *fill;
    }
  }
  if (!computes() && n > 0)
    return unknown(e.buffer->dtype);
  ValueId index = value(e.indices[0], inner);
  if (!computes() && e.buffer->scope == Scope::local)
    return unknown(e.buffer->dtype);
  if (n > 0)
    index = values_.binary(BinaryOp::add, index, values_.constant(values_[index].dtype, n));
  Access &access = make_access(e.buffer, &e, index);
  bool masked = inner && !values_.is_constant(*inner, 1), filled = mask && !values_.is_constant(*mask, 1);
  if (auto element = values_[index].constant;
      e.buffer->scope == Scope::local && element && !masked && *element >= 0 && *element < access.elements) {
    if (access.checked && !written_.contains({e.buffer, *element}))
      values_.emit({.run = handlers_.check_written, .access = &access});
    return values_.given({.dtype = e.buffer->dtype,
                          .uniform = false,
                          .pinned = true,
                          .reg = access.first + access.stride * static_cast<std::uint32_t>(*element)});
  }
  bool uniform = e.buffer->scope != Scope::local && access.kind == AddressKind::uniform;
  if (filled)
    uniform = uniform && values_[*mask].uniform && values_[*fill].uniform;
  if (!uniform && access.kind == AddressKind::uniform && e.buffer->scope != Scope::local) {
    access.kind = AddressKind::pattern;
    access.patterns = one_address();
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
  if (filled) {
    access.fill = values_.reg(*fill);
    access.fill_uniform = values_[*fill].uniform;
  }
  access.value_uniform = uniform;
  bool into_hint = hint != no_register && !uniform && !guard && e.buffer->scope != Scope::local;
  access.value = into_hint ? hint : values_.allocate_temporary(e.buffer->dtype, uniform);
  if (n == 0)
    count(access, masked);
  if (e.lanes > 1 && n == 0)
    first_of_vector(access, e.lanes);
  values_.emit({.run = handlers_.load(access), .access = &access});
  return values_.given({.dtype = e.buffer->dtype, .uniform = uniform, .pinned = true, .reg = access.value});
}

// ---- accesses ------------------------------------------------------------------------------------

Access &Decoder::make_access(const Buffer &buffer, const Load *load, ValueId index) {
  auto it = places_.find(buffer);
  internal_check(it != places_.end(), "a kernel accesses a buffer that it does not declare");
  const Place &place = it->second;
  Access &access = *program_.accesses.emplace_back(std::make_unique<Access>());
  access.site = site(load);
  access.buffer = buffer;
  access.slot = place.slot;
  access.elements = place.elements;
  access.bytes = byte_size(buffer->dtype);
  access.checked = check_;
  if (buffer->scope == Scope::global)
    access.checked = check_ && (program_.stored[place.slot] || !buffers_[place.slot].starts_written);
  access.byte_offset = place.byte_offset;
  access.shadow_offset = place.byte_offset / shadow_unit_;
  access.overlaps = place.overlaps;
  access.units = byte_size(buffer->dtype) / shadow_unit_;
  access.first = place.first;
  access.stride = place.stride;
  access.first_written = place.first_written;
  set_address(access, index);
  return access;
}

void Decoder::set_address(Access &access, ValueId index) {
  DType dtype = values_[index].dtype;
  internal_check(is_index(dtype), "an index that is neither i32 nor i64");
  access.wraps = dtype == DType::i32;
  Sum uniform{.terms = {}, .constant = 0}, lanes = uniform, all = values_.as_sum(index);
  access.constant = all.constant;
  for (auto [term, coefficient] : all.terms)
    (values_[term].uniform ? uniform : lanes).terms[term] = coefficient;
  for (auto [term, coefficient] : all.terms)
    needs(term);
  if (computes() && !uniform.terms.empty())
    access.base = values_.reg(values_.sum(dtype, uniform));
  if (access.buffer->scope != Scope::local && options_.observer)
    uniform_parts_[&access] = {dtype, std::move(uniform)};
  if (lanes.terms.empty())
    return;
  ValueId id = values_.sum(dtype, lanes);
  const auto &table = values_[id].table;
  auto fits = [](std::int64_t v) { return v == static_cast<std::int32_t>(v); };
  if (!table.empty() && std::all_of(table.begin(), table.end(), fits)) {
    access.kind = AddressKind::pattern;
    access.patterns = patterns_of(id);
    return;
  }
  access.kind = AddressKind::lanes;
  access.lanes = values_.reg(id);
  access.lanes_wide = dtype == DType::i64;
}

void DecodedAccess::need_base(Values &values) const {
  if (!uniform.terms.empty())
    access.base = values.reg(values.sum(index, uniform));
}

/// An access to several elements must start at a multiple of their number.
void Decoder::first_of_vector(Access &access, int lanes) {
  access.vector_lanes = lanes;
  access.lanes_aligned = access.kind == AddressKind::uniform;
  if (access.kind == AddressKind::pattern) {
    access.lanes_aligned = true;
    for (std::uint32_t warp = 0; warp < program_.warps; ++warp)
      for (std::int32_t offset : access.patterns[warp].offset)
        access.lanes_aligned = access.lanes_aligned && offset % lanes == 0;
  }
  values_.emit({.run = check_aligned, .access = &access});
}

const Pattern *Decoder::patterns_of(ValueId table) {
  const Pattern *&known = patterns_[table];
  if (known)
    return known;
  auto &list = *program_.patterns.emplace_back(std::make_unique<std::vector<Pattern>>());
  for (std::uint32_t warp = 0; warp < program_.warps; ++warp)
    list.push_back(make_pattern(values_[table].table.data() + std::size_t{warp} * warp_size,
                                std::min<std::uint32_t>(program_.threads - warp * warp_size, warp_size)));
  return known = list.data();
}

/// The pattern of a warp whose lanes all use one address.
const Pattern *Decoder::one_address() {
  if (!one_address_) {
    auto &list = *program_.patterns.emplace_back(std::make_unique<std::vector<Pattern>>());
    const std::int64_t zeros[warp_size] = {};
    for (std::uint32_t warp = 0; warp < program_.warps; ++warp)
      list.push_back(
          make_pattern(zeros, std::min<std::uint32_t>(program_.threads - warp * warp_size, warp_size)));
    one_address_ = list.data();
  }
  return one_address_;
}

void Decoder::count(Access &access, bool masked) {
  RegionCounts &counts = program_.regions[region_];
  if (!masked && access.buffer->scope == Scope::global)
    ++(access.is_store ? counts.stores_global : counts.loads_global);
  else if (!masked && access.buffer->scope == Scope::shared)
    ++(access.is_store ? counts.stores_shared : counts.loads_shared);
  if (access.buffer->scope == Scope::local)
    return;
  epoch_ += access.is_store && access.buffer->scope == Scope::shared;
  if (!options_.observer)
    return;
  const auto &[dtype, uniform] = uniform_parts_.at(&access);
  options_.observer->decoded({access, region_, epoch_, masked, dtype, uniform}, values_);
}

std::uint32_t Decoder::site(const Load *load) {
  auto source = sources_.try_emplace({stmt_.get(), load}, static_cast<int>(sources_.size())).first->second;
  bool made = made_.exists() && made_.as<Load>() == load;
  program_.sites.push_back({stmt_, load, source, loops_, made ? made_ : Expr()});
  return static_cast<std::uint32_t>(program_.sites.size() - 1);
}

} // namespace nestsmith::sim
