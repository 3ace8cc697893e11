#include "runtime/sim/values.h"

#include "dsl/expr/error.h"

#include <algorithm>
#include <cstring>

namespace nestsmith::sim {

// ---- registers -----------------------------------------------------------------------------------

std::uint32_t Values::register_bytes(DType dtype, bool uniform) {
  return uniform || dtype == DType::boolean ? 8 : static_cast<std::uint32_t>(byte_size(dtype) * warp_size);
}

std::uint32_t Values::allocate_array(std::uint32_t bytes) {
  std::uint32_t reg = decoded_.frame_bytes;
  decoded_.frame_bytes += (bytes + 63) / 64 * 64;
  return reg;
}

std::uint32_t Values::allocate(std::uint32_t bytes) {
  if (bytes > 8)
    return allocate_array(bytes);
  if (small_ == small_end_) {
    small_ = allocate_array(64);
    small_end_ = small_ + 64;
  }
  small_ += 8;
  return small_ - 8;
}

// A hoisted value is computed earlier than the statements that precede it, so it must not use a register of
// these statements. Therefore, only registers of temporaries are reused, and only for temporaries.
std::uint32_t Values::allocate_temporary(DType dtype, bool uniform) {
  std::uint32_t bytes = register_bytes(dtype, uniform);
  std::vector<std::uint32_t> &free = free_[bytes];
  std::uint32_t reg = no_register;
  if (free.empty()) {
    reg = allocate(bytes);
  } else {
    reg = free.back();
    free.pop_back();
  }
  temporaries_.emplace_back(reg, bytes);
  return reg;
}

void Values::release(std::size_t mark) {
  for (std::size_t n = mark; n < temporaries_.size(); ++n)
    free_[temporaries_[n].second].push_back(temporaries_[n].first);
  temporaries_.resize(mark);
}

// ---- code ----------------------------------------------------------------------------------------

/// Sets constants and tables once for each warp.
void Values::set_init(ValueId id) {
  Value &v = values_[id];
  std::uint32_t bytes = register_bytes(v.dtype, v.uniform);
  v.reg = allocate(bytes);
  FrameInit init{v.reg, bytes, {}};
  std::size_t copies = v.constant ? 1 : decoded_.warps;
  init.content.resize(copies * bytes);
  for (std::size_t warp = 0; warp < copies; ++warp) {
    std::byte *to = init.content.data() + warp * bytes;
    if (v.uniform) {
      std::int64_t bits = v.constant ? *v.constant : v.table[warp * warp_size];
      std::memcpy(to, &bits, 8);
      continue;
    }
    std::uint32_t mask = 0;
    for (std::size_t l = 0; l < warp_size; ++l) {
      std::int64_t bits = v.table[warp * warp_size + l];
      if (v.dtype == DType::boolean)
        mask |= static_cast<std::uint32_t>(bits) << l;
      else
        std::memcpy(to + l * static_cast<std::size_t>(byte_size(v.dtype)), &bits,
                    static_cast<std::size_t>(byte_size(v.dtype)));
    }
    if (v.dtype == DType::boolean)
      std::memcpy(to, &mask, sizeof(mask));
  }
  decoded_.inits.push_back(std::move(init));
}

/// Adds the terms one by one, from the outermost scope to the innermost. So a sum of terms that rarely change
/// is rarely computed.
ValueId Values::add_up(const std::vector<std::pair<ValueId, std::int64_t>> &terms, DType dtype,
                       std::int64_t initial) {
  std::optional<ValueId> total;
  if (initial != 0)
    total = constant(dtype, initial);
  auto op = [&](BinaryOp o, ValueId a, ValueId b) {
    return make({.dtype = dtype, .recipe = Recipe::binary, .op = o, .a = a, .b = b});
  };
  for (auto [term, coefficient] : terms) {
    ValueId product = coefficient == 1 ? term : op(BinaryOp::mul, term, constant(dtype, coefficient));
    total = total ? op(BinaryOp::add, *total, product) : product;
  }
  return *total;
}

/// The sum as binary operations on registers.
ValueId Values::spelled(ValueId id) {
  const Value v = values_[id];
  std::vector<std::pair<ValueId, std::int64_t>> uniform, lanes;
  for (auto [term, coefficient] : v.sum.terms)
    (values_[term].uniform ? uniform : lanes).emplace_back(term, coefficient);
  auto outer = [&](const auto &a, const auto &b) {
    return std::pair(values_[a.first].scope, a.first) < std::pair(values_[b.first].scope, b.first);
  };
  std::sort(uniform.begin(), uniform.end(), outer);
  std::sort(lanes.begin(), lanes.end(), outer);
  if (lanes.empty())
    return add_up(uniform, v.dtype, v.sum.constant);
  ValueId total = add_up(lanes, v.dtype, 0);
  if (uniform.empty() && v.sum.constant == 0)
    return total;
  ValueId first =
      uniform.empty() ? constant(v.dtype, v.sum.constant) : add_up(uniform, v.dtype, v.sum.constant);
  return make({.dtype = v.dtype, .recipe = Recipe::binary, .op = BinaryOp::add, .a = first, .b = total});
}

std::uint32_t Values::reg(ValueId id) {
  if (values_[id].reg == no_register)
    emit_recipe(id);
  return values_[id].reg;
}

void Values::emit_recipe(ValueId id) {
  Instr instr;
  const Value v = values_[id];
  auto uniform = [&](ValueId operand) { return values_[operand].uniform; };
  switch (v.recipe) {
  case Recipe::given:
    internal_error("a register that nobody has set");
  case Recipe::constant:
  case Recipe::table:
    set_init(id);
    return;
  case Recipe::sum:
    values_[id].reg = reg(spelled(id));
    return;
  case Recipe::alias:
    values_[id].reg = reg(v.a);
    return;
  case Recipe::block_index:
    instr.run = handlers_.block_index;
    instr.imm = v.imm;
    break;
  case Recipe::binary:
    instr = {.run = handlers_.binary(v.op, values_[v.a].dtype, uniform(v.a)), .a = reg(v.a), .b = reg(v.b)};
    break;
  case Recipe::complement:
    instr = {.run = handlers_.complement(uniform(v.a)), .a = reg(v.a)};
    break;
  case Recipe::select:
    instr = {.run = handlers_.select(v.dtype, v.uniform), .a = reg(v.a), .b = reg(v.b), .c = reg(v.c)};
    break;
  case Recipe::cast:
    instr = {.run = handlers_.cast(values_[v.a].dtype, v.dtype, uniform(v.a)), .a = reg(v.a)};
    break;
  case Recipe::splat:
    instr = {.run = handlers_.splat(v.dtype), .a = reg(v.a)};
    break;
  case Recipe::multiply_add:
    instr = {.run = handlers_.multiply_add(v.dtype, uniform(v.a)), .a = reg(v.a), .b = reg(v.b), .c = reg(v.c)};
    break;
  case Recipe::function:
    instr = {.run = handlers_.function(v.dtype, v.uniform),
             .a = reg(v.a),
             .b = reg(v.b),
             .c = reg(v.c),
             .imm = v.imm};
    break;
  }
  instr.dst = v.pinned ? allocate_temporary(v.dtype, v.uniform) : allocate(register_bytes(v.dtype, v.uniform));
  (v.pinned ? scopes.back().body : scopes[v.scope].head).push_back(instr);
  values_[id].reg = instr.dst;
}

} // namespace nestsmith::sim
