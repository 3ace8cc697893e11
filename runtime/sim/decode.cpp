#include "runtime/sim/decode.h"

#include "dsl/expr/error.h"
#include "runtime/sim/decoder.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace nestsmith::sim {

namespace {

/// Limit on the statements of a loop after unrolling, if the kernel asks to unroll it.
constexpr std::int64_t wanted_unroll = 16384;
/// Limit on the statements of the iterations that are decoded together.
constexpr std::int64_t decoded_together = 128;

/// The number of statements of the body after all loops inside it are unrolled. The number is huge if a loop
/// cannot be unrolled.
std::int64_t unrolled_size(const kernel::Stmt &stmt) {
  return kernel::visit(
      stmt, Overloaded{
                [](const kernel::Declare &) { return std::int64_t{1}; },
                [](const kernel::Store &) { return std::int64_t{1}; },
                [](const kernel::Call &) { return std::int64_t{1}; },
                [](const kernel::Barrier &) { return std::int64_t{1}; },
                [](const kernel::Commit &) { return std::int64_t{1}; },
                [](const kernel::Wait &) { return std::int64_t{1}; },
                [](const kernel::Arrive &) { return std::int64_t{1}; },
                [](const kernel::If &s) {
                  return 1 + unrolled_size(s.body) + (s.otherwise ? 1 + unrolled_size(s.otherwise) : 0);
                },
                [](const kernel::Loop &s) {
                  auto extent = as_int(s.extent);
                  std::int64_t body = unrolled_size(s.body);
                  return extent ? std::min(wanted_unroll + 1, std::max<std::int64_t>(*extent, 0) * body)
                                : wanted_unroll + 1;
                },
                [](const kernel::Seq &s) {
                  std::int64_t total = 0;
                  for (const kernel::Stmt &child : s.stmts)
                    total = std::min(wanted_unroll + 1, total + unrolled_size(child));
                  return total;
                },
            });
}

} // namespace

// ---- threads and buffers -------------------------------------------------------------------------

void Decoder::shape() {
  program_.grid = kernel_.grid();
  program_.block = kernel_.block();
  program_.blocks = program_.grid[0] * program_.grid[1] * program_.grid[2];
  program_.threads = static_cast<std::uint32_t>(kernel_.threads());
  program_.warps = (program_.threads + warp_size - 1) / warp_size;
  program_.regions.emplace_back();
  for (const kernel::ThreadIndex &index : kernel_.indices) {
    int axis = static_cast<int>(index.axis);
    variables_[index.var] =
        is_thread(index.axis) ? values_.thread_index(axis - static_cast<int>(Axis::thread_x), index.var->dtype)
                              : values_.block_index(axis, index.var->dtype);
  }
}

void Decoder::bind_scalars(std::span<const Scalar> scalars) {
  internal_check(scalars.size() == kernel_.scalars.size(),
                 "a kernel is simulated with the wrong number of scalars");
  for (std::size_t n = 0; n < scalars.size(); ++n) {
    internal_check(scalars[n].dtype == kernel_.scalars[n]->dtype,
                   "a scalar of another dtype than the kernel's");
    auto bits = static_cast<std::int64_t>(scalars[n].bits);
    if (scalars[n].dtype == DType::i8)
      bits = static_cast<std::int8_t>(bits);
    if (scalars[n].dtype == DType::i32)
      bits = static_cast<std::int32_t>(bits);
    variables_[kernel_.scalars[n]] = values_.constant(scalars[n].dtype, bits);
  }
}

static std::int64_t elements_of(const kernel::Allocation &allocation) {
  std::int64_t elements = 1;
  for (const Expr &extent : allocation.buffer->shape) {
    auto constant = as_int(extent);
    internal_check(constant.has_value(), "an allocation whose size is not constant");
    elements *= *constant;
  }
  return elements;
}

static bool overlaps(const kernel::Kernel &kernel, const kernel::Allocation &a) {
  auto end = [](const kernel::Allocation &x) {
    return x.byte_offset + elements_of(x) * byte_size(x.buffer->dtype);
  };
  return std::ranges::any_of(kernel.shared, [&](const kernel::Allocation &b) {
    return a.buffer != b.buffer && a.byte_offset < end(b) && b.byte_offset < end(a);
  });
}

void Decoder::place_shared() {
  std::int64_t unit = 0;
  program_.shared_bytes = kernel_.shared_bytes;
  for (const kernel::Allocation &a : kernel_.shared) {
    std::int64_t width = byte_size(a.buffer->dtype);
    places_[a.buffer] = {.slot = static_cast<std::uint32_t>(program_.shared.size()),
                         .elements = elements_of(a),
                         .byte_offset = a.byte_offset,
                         .overlaps = overlaps(kernel_, a)};
    program_.shares_memory = program_.shares_memory || places_[a.buffer].overlaps;
    program_.shared.push_back(a.buffer);
    unit = std::gcd(unit, std::gcd(width, a.byte_offset));
    program_.shared_bytes = std::max(program_.shared_bytes, a.byte_offset + elements_of(a) * width);
  }
  // Buffers may overlap in the arena, so the shadow covers the arena, in units of the smallest element.
  shadow_unit_ = std::max<std::int64_t>(unit, 1);
  program_.shadow_units = (program_.shared_bytes + shadow_unit_ - 1) / shadow_unit_;
  if (!computes())
    program_.shared_bytes = program_.shadow_units = 0;
}

void Decoder::place_local() {
  std::uint32_t elements = 0;
  program_.locals_begin = program_.frame_bytes;
  for (const kernel::Allocation &a : kernel_.local) {
    Place place{.slot = static_cast<std::uint32_t>(program_.local.size()), .elements = elements_of(a)};
    place.stride = Values::register_bytes(a.buffer->dtype, false);
    if (computes()) {
      place.first = values_.allocate_array(place.stride * static_cast<std::uint32_t>(place.elements));
      place.first_written = elements;
      elements += static_cast<std::uint32_t>(place.elements);
    }
    program_.local.push_back(a.buffer);
    places_[a.buffer] = place;
  }
  program_.locals_end = program_.frame_bytes;
  program_.written_begin = values_.allocate_array(4 * elements);
  program_.written_end = program_.written_begin + 4 * elements;
  for (const Buffer &buffer : program_.local)
    places_[buffer].first_written = program_.written_begin + 4 * places_[buffer].first_written;
}

void Decoder::find_uses() {
  program_.stored.resize(kernel_.params.size());
  program_.loaded.resize(kernel_.params.size());
  for (std::size_t n = 0; n < kernel_.params.size(); ++n)
    places_[kernel_.params[n]] = {.slot = static_cast<std::uint32_t>(n), .elements = buffers_[n].elements};
  kernel::walk(kernel_.body, [&](const kernel::Stmt &s) {
    const auto *node = kernel::as<kernel::Store>(s);
    if (node && node->async && std::ranges::find(copied_, node->buffer) == copied_.end())
      copied_.push_back(node->buffer);
    if (node && node->buffer->scope == Scope::global)
      program_.stored[places_.at(node->buffer).slot] = true;
    if (const auto *arrive = kernel::as<kernel::Arrive>(s))
      program_.stored[places_.at(arrive->counters).slot] = true;
  });
  walk_exprs(kernel_.body, [&](const Expr &e) {
    const Load *node = e.as<Load>();
    if (node && node->buffer->scope == Scope::global)
      program_.loaded[places_.at(node->buffer).slot] = true;
  });
}

Program Decoder::decode(std::span<const Scalar> scalars) {
  shape();
  bind_scalars(scalars);
  place_shared();
  place_local();
  find_uses();
  stmt(kernel_.body);
  if (options_.observer)
    options_.observer->decoded_all(values_, program_);
  values_.emit({.run = handlers_.end});
  CodeScope &all = values_.scopes.front();
  program_.code = std::move(all.head);
  program_.code.insert(program_.code.end(), all.body.begin(), all.body.end());
  return std::move(program_);
}

// ---- statements ----------------------------------------------------------------------------------

void Decoder::stmt(const kernel::Stmt &s) {
  stmt_ = s;
  std::size_t mark = values_.mark();
  kernel::visit(s, Overloaded{
                       [&](const kernel::Declare &node) { declare(node); },
                       [&](const kernel::Loop &node) { loop(node); },
                       [&](const kernel::If &node) { branch(node); },
                       [&](const kernel::Seq &node) {
                         for (const kernel::Stmt &child : node.stmts)
                           stmt(child);
                       },
                       [&](const kernel::Store &node) { store(node); },
                       [&](const kernel::Call &node) { call(node); },
                       [&](const kernel::Barrier &node) { barrier(node); },
                       [&](const kernel::Commit &) { commit(); },
                       [&](const kernel::Wait &node) { wait(node); },
                       [&](const kernel::Arrive &node) { arrive(node); },
                   });
  // A declared value lives until the end of the sequence that contains it.
  if (!kernel::as<kernel::Declare>(s) && !kernel::as<kernel::Arrive>(s))
    values_.release(mark);
}

void Decoder::declare(const kernel::Declare &node) {
  if (node.var->lanes == 1) {
    variables_[node.var] = keep(value(node.value));
    return;
  }
  std::vector<ValueId> lanes;
  for (ValueId id : vector(node.value))
    lanes.push_back(keep(id));
  vectors_[node.var] = std::move(lanes);
}

/// Returns the value in a form that later stores do not change: a value in a register of a local array is
/// copied.
ValueId Decoder::keep(ValueId id) {
  const Value v = values_[id];
  if (!v.pinned || !computes())
    return id;
  std::uint32_t reg = values_.reg(id);
  if (reg >= program_.locals_begin && reg < program_.locals_end) {
    std::uint32_t copy = values_.allocate_temporary(v.dtype, v.uniform);
    values_.emit({.run = handlers_.copy(v.dtype), .dst = copy, .a = reg});
    reg = copy;
  }
  return values_.given({.dtype = v.dtype, .uniform = v.uniform, .pinned = true, .scope = v.scope, .reg = reg});
}

/// Whether a call below the statement has registers that are not known before unrolling.
static bool selects_registers(const kernel::Stmt &stmt) {
  bool found = false;
  kernel::walk(stmt, [&](const kernel::Stmt &inner) {
    if (const auto *call = kernel::as<kernel::Call>(inner))
      for (const kernel::Place &place : call->places)
        found = found || (place.buffer->scope == Scope::local && !as_int(place.offset));
  });
  return found;
}

void Decoder::loop(const kernel::Loop &node) {
  ValueId extent = value(node.extent);
  internal_check(values_[extent].uniform, "a loop whose extent differs between the threads of a warp");
  needs(extent);
  if (auto constant = values_[extent].constant) {
    bool indexes_local = selects_registers(node.body);
    walk_exprs(node.body, [&](const Expr &e) {
      const Load *access = e.as<Load>();
      indexes_local = indexes_local ||
                      (access && access->buffer->scope == Scope::local && uses(access->indices[0], node.var));
    });
    std::int64_t limit = node.is<kernel::Unrolled>() || indexes_local ? wanted_unroll : options_.unroll;
    if (*constant <= 1 || *constant * unrolled_size(node.body) <= limit)
      return unrolled(node, *constant);
  }
  rolled(node, extent);
}

/// Decodes a loop that is not unrolled. If the extent permits, several iterations are decoded as one, so that
/// they share the computation of addresses.
void Decoder::rolled(const kernel::Loop &node, ValueId extent) {
  bool runs = values_[extent].constant.has_value();
  std::int64_t step = 1, size = unrolled_size(node.body);
  if (runs)
    while (step < options_.iterations && *values_[extent].constant % (2 * step) == 0 &&
           2 * step * size <= decoded_together)
      step *= 2;
  std::uint32_t variable = values_.allocate(8), region = static_cast<std::uint32_t>(program_.regions.size());
  Instr instr{.run = handlers_.loop_begin,
              .dst = variable,
              .a = values_.reg(extent),
              .b = region,
              .c = static_cast<std::uint32_t>(step)};
  Value v{.dtype = node.var->dtype, .scope = values_.scopes.size(), .multiple = step, .reg = variable};
  if (auto range = values_[extent].range; range && range->high > 0)
    v.range = Range{0, range->high - step};
  std::set<std::pair<Buffer, std::int64_t>> written = written_;

  program_.regions.emplace_back();
  std::uint32_t outer = std::exchange(region_, region);
  values_.scopes.emplace_back();
  ValueId first = values_.given(v);
  for (std::int64_t n = 0; n < step; ++n) {
    variables_[node.var] = values_.binary(BinaryOp::add, first, values_.constant(v.dtype, n));
    program_.regions[region_].branches += !node.is<kernel::Unrolled>();
    loops_.push_back({node.var, variable, n});
    stmt(node.body);
    loops_.pop_back();
  }
  region_ = outer;
  CodeScope inner = std::move(values_.scopes.back());
  values_.scopes.pop_back();
  if (!runs)
    written_ = std::move(written);

  auto length = static_cast<std::int64_t>(inner.head.size() + inner.body.size());
  std::vector<Instr> &body = values_.scopes.back().body;
  if (!computes() && inner.body.empty()) {
    instr.run = handlers_.loop_whole;
    body.push_back(instr);
    return;
  }
  instr.imm = length + 2;
  body.push_back(instr);
  body.insert(body.end(), inner.head.begin(), inner.head.end());
  body.insert(body.end(), inner.body.begin(), inner.body.end());
  instr.run = handlers_.loop_next;
  instr.imm = -length;
  body.push_back(instr);
}

void Decoder::unrolled(const kernel::Loop &node, std::int64_t extent) {
  for (std::int64_t n = 0; n < extent; ++n) {
    variables_[node.var] = values_.constant(node.var->dtype, n);
    program_.regions[region_].branches += !node.is<kernel::Unrolled>();
    loops_.push_back({node.var, zero_register, n});
    stmt(node.body);
    loops_.pop_back();
  }
}

/// Decodes both sides of an if/else. They run one after the other, each with the lanes that take it.
void Decoder::branch(const kernel::If &node) {
  ValueId condition = value(node.condition);
  needs(condition);
  ++program_.regions[region_].branches;
  if (!node.otherwise) {
    guarded(condition, node.body);
    return;
  }
  // After the branch, a local element counts as written only if both sides have written it.
  std::set<std::pair<Buffer, std::int64_t>> before = written_, both;
  auto by_then = guarded(condition, node.body);
  auto by_else = guarded(values_.complement(condition), node.otherwise, true);
  std::set_intersection(by_then.begin(), by_then.end(), by_else.begin(), by_else.end(),
                        std::inserter(both, both.end()));
  written_.insert(both.begin(), both.end());
}

/// Decodes a body that only the lanes with a true condition execute. Returns the local elements that these
/// lanes have written when the body ends.
std::set<std::pair<Buffer, std::int64_t>> Decoder::guarded(ValueId condition, const kernel::Stmt &body_stmt,
                                                           bool is_else) {
  const Value v = values_[condition];
  if (v.constant) {
    if (*v.constant)
      stmt(body_stmt);
    return written_;
  }
  auto region = static_cast<std::uint32_t>(program_.regions.size());
  std::uint32_t saved = values_.allocate(8);
  values_.emit({.run = v.uniform ? handlers_.if_uniform : handlers_.if_lanes,
                .dst = saved,
                .a = values_.reg(condition),
                .b = region,
                .c = !is_else});
  std::size_t at = values_.scopes.back().body.size() - 1;
  program_.regions.emplace_back();
  std::set<std::pair<Buffer, std::int64_t>> written = written_;
  std::uint32_t outer = std::exchange(region_, region);
  stmt(body_stmt);
  region_ = outer;
  written.swap(written_);
  if (!v.uniform)
    values_.emit({.run = handlers_.end_if, .a = saved});
  std::vector<Instr> &body = values_.scopes.back().body;
  body[at].imm = static_cast<std::int64_t>(body.size() - at);
  return written;
}

void Decoder::barrier(const kernel::Barrier &node) {
  if (node.scope == kernel::SyncScope::block)
    ++program_.regions[region_].barriers;
  ++epoch_;
  if (options_.barriers)
    values_.emit({.run = node.scope == kernel::SyncScope::block ? block_barrier : warp_barrier,
                  .imm = static_cast<std::int64_t>(site(nullptr))});
}

void Decoder::commit() {
  if (computes())
    values_.emit({.run = commit_copies});
}

void Decoder::wait(const kernel::Wait &node) {
  ++epoch_;
  if (!computes())
    return;
  std::uint32_t at = site(nullptr);
  for (const Buffer &buffer : copied_) { // for explanations
    Access &access = make_access(buffer, nullptr, values_.constant(DType::i64, 0));
    access.site = at;
    access.is_store = true;
  }
  values_.emit({.run = wait_copies, .c = static_cast<std::uint32_t>(node.pending), .imm = at});
}

/// The source is loaded at once, and the value is kept until the wait.
void Decoder::copy(const kernel::Store &node) {
  const auto &source = *node.value.as<Load>();
  ValueId first = value(node.indices[0]);
  for (int n = 0; n < node.lanes; ++n) {
    std::size_t before = program_.accesses.size();
    ValueId loaded = load_element(source, {}, n);
    bool tracked = program_.accesses.size() > before && program_.stored[places_.at(source.buffer).slot];
    const Access *from = tracked ? program_.accesses.back().get() : nullptr;
    ValueId step = values_.constant(values_[first].dtype, n);
    Access &access = make_access(node.buffer, nullptr, values_.binary(BinaryOp::add, first, step));
    access.is_store = true;
    if (n == 0) {
      access.bytes *= node.lanes;
      count(access, false);
    }
    access.value = values_.reg(loaded);
    access.value_uniform = values_[loaded].uniform;
    if (n == 0 && node.lanes > 1)
      first_of_vector(access, node.lanes);
    values_.emit(
        {.run = issue_copy, .c = static_cast<std::uint32_t>(program_.copies.size()), .access = &access});
    program_.copies.push_back(from);
  }
}

void Decoder::arrive(const kernel::Arrive &node) {
  program_.regions[region_].barriers += 2;
  ++epoch_;
  auto at = static_cast<std::int64_t>(site(nullptr));
  if (!options_.arrivals) {
    if (options_.barriers)
      values_.emit({.run = block_barrier, .imm = at});
    auto axis = static_cast<int>(node.axis);
    ValueId most = values_.constant(DType::i64, program_.grid[static_cast<std::size_t>(axis)] - 1);
    variables_[node.last] = values_.binary(BinaryOp::eq, values_.block_index(axis, DType::i64), most);
    return;
  }
  std::uint32_t last = values_.allocate(8), index = values_.reg(value(node.index));
  values_.emit({.run = block_arrival,
                .dst = last,
                .a = index,
                .b = values_.reg(value(node.arrivals)),
                .c = static_cast<std::uint32_t>(program_.arrivals.size()),
                .imm = at});
  program_.arrivals.push_back(
      {places_.at(node.counters).slot, node.fence, node.barrier, static_cast<int>(node.axis)});
  variables_[node.last] =
      values_.given({.dtype = DType::boolean, .pinned = true, .scope = values_.scopes.size(), .reg = last});
}

void Decoder::store(const kernel::Store &node) {
  internal_check(node.indices.size() == 1, "an access of a kernel has one index, an element offset");
  if (node.async && computes())
    return copy(node);
  if (node.lanes > 1)
    return store_vector(node);
  ValueId index = value(node.indices[0]);
  bool local = node.buffer->scope == Scope::local;
  std::int64_t element = values_[index].constant.value_or(-1);
  bool fixed = local && element >= 0 && element < places_.at(node.buffer).elements;
  if (!computes()) {
    (void)value(node.value);
    if (!local) {
      Access &access = make_access(node.buffer, nullptr, index);
      access.is_store = true;
      count(access, false);
    }
    return;
  }
  if (fixed && accumulate(node, element))
    return;
  const Place &place = places_.at(node.buffer);
  if (fixed)
    hint_ = place.first + place.stride * static_cast<std::uint32_t>(element);
  ValueId stored = value(node.value);
  std::uint32_t hint = std::exchange(hint_, no_register);
  if (fixed)
    written_.insert({node.buffer, element});

  Access &access = make_access(node.buffer, nullptr, index);
  access.is_store = true;
  if (!local && access.kind == AddressKind::pattern)
    stored = values_.splat(stored);
  access.value = values_.reg(stored);
  access.value_uniform = values_[stored].uniform;
  count(access, false);
  if (fixed && access.value == hint)
    values_.emit({.run = handlers_.mark_written, .access = &access});
  else
    values_.emit({.run = handlers_.store(access), .access = &access});
}

/// Computes all elements of the vector, then stores them one by one.
void Decoder::store_vector(const kernel::Store &node) {
  ValueId first = value(node.indices[0]);
  std::vector<ValueId> lanes = vector(node.value);
  for (std::size_t n = 0; n < (computes() ? lanes.size() : 1); ++n) {
    ValueId step = values_.constant(values_[first].dtype, static_cast<std::int64_t>(n));
    Access &access = make_access(node.buffer, nullptr, values_.binary(BinaryOp::add, first, step));
    access.is_store = true;
    access.bytes *= n == 0 ? node.lanes : 1;
    if (n == 0)
      count(access, false);
    if (!computes())
      return;
    ValueId stored = access.kind == AddressKind::pattern ? values_.splat(lanes[n]) : lanes[n];
    access.value = values_.reg(stored);
    access.value_uniform = values_[stored].uniform;
    if (n == 0)
      first_of_vector(access, node.lanes);
    values_.emit({.run = handlers_.store(access), .access = &access});
  }
}

/// Decodes `local[c] = local[c] + a * b` as one multiply-add. Returns false if the store has another form.
bool Decoder::accumulate(const kernel::Store &node, std::int64_t element) {
  const auto *add = node.value.as<Binary>();
  DType dtype = node.buffer->dtype;
  if (!add || add->op != BinaryOp::add || (dtype != DType::f32 && dtype != DType::u32))
    return false;
  auto is_old = [&](const Expr &e) {
    const Load *old = e.as<Load>();
    return old && old->buffer == node.buffer && !old->mask.exists() && same(old->indices[0], node.indices[0]);
  };
  auto product = [](const Expr &e) {
    const auto *mul = e.as<Binary>();
    return mul && mul->op == BinaryOp::mul ? mul : nullptr;
  };
  bool first = is_old(add->a);
  const Binary *mul = product(first ? add->b : add->a);
  if (!mul || !is_old(first ? add->a : add->b))
    return false;
  ValueId old = value(first ? add->a : add->b), a = value(mul->a), b = value(mul->b);
  if (values_[b].uniform)
    std::swap(a, b);
  const Place &place = places_.at(node.buffer);
  std::uint32_t slot = place.first + place.stride * static_cast<std::uint32_t>(element);
  ++program_.regions[region_].multiply_adds;
  if (!values_[b].uniform && values_.reg(a) != slot && values_.reg(b) != slot) {
    values_.emit({.run = handlers_.accumulate(dtype, values_[a].uniform),
                  .dst = slot,
                  .a = values_.reg(a),
                  .b = values_.reg(b)});
  } else {
    ValueId sum = values_.multiply_add(old, a, b);
    Access &access = make_access(node.buffer, nullptr, values_.constant(DType::i64, element));
    access.is_store = true;
    access.value = values_.reg(sum);
    access.value_uniform = values_[sum].uniform;
    values_.emit({.run = handlers_.store(access), .access = &access});
  }
  written_.insert({node.buffer, element});
  return true;
}

Program decode(const kernel::Kernel &kernel, std::span<const Scalar> scalars,
               const std::vector<GlobalBuffer> &buffers, const DecodeOptions &options) {
  return Decoder(kernel, buffers, options).decode(scalars);
}

} // namespace nestsmith::sim
