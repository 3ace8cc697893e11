#include "runtime/sim/decoder.h"

#include "dsl/expr/error.h"
#include "dsl/expr/numbers.h"
#include "dsl/ir/atomics.h"

#include <algorithm>
#include <numeric>

namespace nestsmith::sim {

// ---- threads and buffers -------------------------------------------------------------------------

void Decoder::shape() {
  decoded_.grid = kernel_.grid();
  decoded_.block = kernel_.block();
  decoded_.blocks = decoded_.grid[0] * decoded_.grid[1] * decoded_.grid[2];
  decoded_.cluster = kernel_.copies_to_cluster() ? kernel_.cluster : 1;
  decoded_.threads = static_cast<std::uint32_t>(kernel_.threads());
  decoded_.warps = (decoded_.threads + warp_size - 1) / warp_size;
  decoded_.regions.emplace_back();
  for (const kernel::ThreadIndex &index : kernel_.indices) {
    std::size_t along = dimension(index.axis);
    variables_[index.var] = is_thread(index.axis) ? values_.thread_index(along, index.var->dtype)
                                                  : values_.block_index(along, index.var->dtype);
  }
}

void Decoder::bind_scalars(std::span<const Scalar> scalars) {
  internal_check(scalars.size() == kernel_.scalars.size(),
                 "a kernel is simulated with the wrong number of scalars");
  for (std::size_t n = 0; n < scalars.size(); ++n) {
    internal_check(scalars[n].dtype == kernel_.scalars[n]->dtype,
                   "a scalar of another dtype than the kernel's");
    DType dtype = scalars[n].dtype;
    variables_[kernel_.scalars[n]] =
        values_.constant(dtype, wrapped(dtype, static_cast<std::int64_t>(scalars[n].bits)));
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

static std::int64_t end_of(const kernel::Allocation &a) {
  return a.byte_offset + elements_of(a) * byte_size(a.buffer->dtype);
}

void Decoder::place_shared() {
  // Buffers may overlap in the arena, so the shadow covers the arena, in units of the smallest element.
  std::int64_t unit = 0;
  decoded_.shared_bytes = kernel_.shared_bytes;
  decoded_.channels = kernel_.channels;
  for (std::size_t n = 0; n < kernel_.channels.size(); ++n) {
    const std::vector<Buffer> tiles = kernel::tiles_to_cluster(kernel_, n);
    decoded_.tiles_to_cluster.push_back(tiles.empty() ? nullptr : tiles.front());
  }
  decoded_.roles = kernel_.roles;
  internal_check(kernel_.roles.empty() || !kernel_.channels.empty(),
                 "each role but the main one has a channel");
  if (!kernel_.channels.empty())
    of_program_.emplace(kernel_);
  for (const kernel::Allocation &a : kernel_.shared) {
    unit = std::gcd(unit, std::gcd(std::int64_t{byte_size(a.buffer->dtype)}, a.byte_offset));
    decoded_.shared_bytes = std::max(decoded_.shared_bytes, end_of(a));
  }
  unit = std::max<std::int64_t>(unit, 1);
  std::set<Buffer> tiles = kernel::tiles_of_units(kernel_);
  const std::set<Buffer> bulk = kernel::bulk_tiles(kernel_), stored = kernel::stored_tiles(kernel_);
  decoded_.stores_boxes = !stored.empty();
  tiles.insert(stored.begin(), stored.end());
  for (const kernel::Allocation &a : kernel_.shared) {
    bool overlaps = std::ranges::any_of(kernel_.shared, [&](const kernel::Allocation &b) {
      return a.buffer != b.buffer && a.byte_offset < end_of(b) && b.byte_offset < end_of(a);
    });
    storage_[a.buffer] = {.slot = static_cast<std::uint32_t>(decoded_.shared.size()),
                          .elements = elements_of(a),
                          .memory = SharedStorage{a.byte_offset, a.byte_offset / unit,
                                                  byte_size(a.buffer->dtype) / unit, overlaps,
                                                  tiles.contains(a.buffer), bulk.contains(a.buffer)}};
    decoded_.shares_memory = decoded_.shares_memory || overlaps;
    decoded_.shared.push_back(a.buffer);
  }
  decoded_.shadow_units = (decoded_.shared_bytes + unit - 1) / unit;
  if (!computes())
    decoded_.shared_bytes = decoded_.shadow_units = 0;
}

void Decoder::place_local() {
  std::uint32_t written = 0;
  decoded_.locals_begin = decoded_.frame_bytes;
  std::vector<LocalStorage> locals;
  for (const kernel::Allocation &a : kernel_.local) {
    LocalStorage &local = locals.emplace_back();
    local.stride = Values::register_bytes(a.buffer->dtype, false);
    if (!computes())
      continue;
    auto elements = static_cast<std::uint32_t>(elements_of(a));
    local.first = values_.allocate_array(local.stride * elements);
    local.first_written = written;
    written += 4 * elements;
  }
  decoded_.locals_end = decoded_.frame_bytes;
  decoded_.written_begin = values_.allocate_array(written);
  decoded_.written_end = decoded_.written_begin + written;
  for (std::size_t n = 0; n < locals.size(); ++n) {
    const kernel::Allocation &a = kernel_.local[n];
    locals[n].first_written += decoded_.written_begin;
    storage_[a.buffer] = {
        .slot = static_cast<std::uint32_t>(n), .elements = elements_of(a), .memory = locals[n]};
    decoded_.local.push_back(a.buffer);
  }
}

void Decoder::find_uses() {
  decoded_.stored.resize(kernel_.params.size());
  decoded_.loaded.resize(kernel_.params.size());
  decoded_.updated.resize(kernel_.params.size());
  for (std::size_t n = 0; n < kernel_.params.size(); ++n)
    storage_[kernel_.params[n]] = {.slot = static_cast<std::uint32_t>(n), .elements = buffers_[n].elements};
  auto slot = [&](const Buffer &buffer) { return storage_.at(buffer).slot; };
  kernel::walk(kernel_.body, [&](const kernel::Stmt &s) {
    const auto *node = kernel::as<kernel::Store>(s);
    if (node && node->async && std::ranges::find(copied_, node->buffer) == copied_.end())
      copied_.push_back(node->buffer);
    if (const auto *copy = kernel::as<kernel::BulkCopy>(s)) {
      if (!copy->stores() && std::ranges::find(copied_, copy->tile) == copied_.end())
        copied_.push_back(copy->tile);
      (copy->stores() ? decoded_.stored : decoded_.loaded)[slot(copy->array)] = true;
    }
    if (node && node->buffer->scope == Scope::global)
      decoded_.stored[slot(node->buffer)] = true;
    if (node && node->atomic) {
      decoded_.updated[slot(node->buffer)] = true;
      decoded_.rounds_in_any_order |=
          options_.arithmetic == Arithmetic::floating && depends_on_order(*node->atomic, node->buffer->dtype);
    }
    const auto *call = kernel::as<kernel::Call>(s);
    if (check_ && call && call->intrinsic.get().asynchronous && !number_of_sums(call->result().buffer))
      decoded_.sums.push_back(slot(call->result().buffer));
    if (const auto *sync = kernel::as<kernel::Sync>(s); sync && sync->updates())
      decoded_.stored[slot(sync->updates())] = true;
  });
  walk_exprs(kernel_.body, [&](const Expr &e) {
    const Load *node = e.as<Load>();
    if (node && node->buffer->scope == Scope::global)
      decoded_.loaded[slot(node->buffer)] = true;
  });
}

std::optional<std::uint32_t> Decoder::number_of_sums(const Buffer &buffer) const {
  const auto known = storage_.find(buffer);
  if (known == storage_.end() || buffer->scope != Scope::local)
    return std::nullopt;
  const auto at = std::ranges::find(decoded_.sums, known->second.slot);
  return at == decoded_.sums.end() ? std::nullopt
                                   : std::optional(static_cast<std::uint32_t>(at - decoded_.sums.begin()));
}

void Decoder::note_sums(const kernel::Stmt &s) {
  std::set<std::uint32_t> accessed;
  kernel::each_access(s, [&](const Buffer &buffer, const Buffer &) {
    if (auto number = number_of_sums(buffer))
      accessed.insert(*number);
  });
  for (std::uint32_t number : accessed)
    values_.emit({.run = access_sums, .c = number, .imm = static_cast<std::int64_t>(site(nullptr))});
}

DecodedKernel Decoder::decode(std::span<const Scalar> scalars) {
  shape();
  bind_scalars(scalars);
  place_shared();
  place_local();
  find_uses();
  stmt(kernel_.body);
  if (options_.observer)
    options_.observer->kernel_decoded(values_, decoded_);
  values_.emit({.run = handlers_.end});
  CodeScope &all = values_.scopes.front();
  decoded_.code = std::move(all.head);
  decoded_.code.insert(decoded_.code.end(), all.body.begin(), all.body.end());
  return std::move(decoded_);
}

// ---- statements ----------------------------------------------------------------------------------

void Decoder::stmt(const kernel::Stmt &s) {
  stmt_ = stands_for_ ? stands_for_ : s;
  std::size_t mark = values_.mark();
  if (!decoded_.sums.empty())
    note_sums(s);
  kernel::visit(s, Overloaded{
                       [&](const kernel::Declare &node) { declare(node); },
                       [&](const kernel::Loop &node) { loop(node); },
                       [&](const kernel::If &node) { branch(node); },
                       [&](const kernel::Seq &node) {
                         for (const kernel::Stmt &child : node.stmts)
                           stmt(child);
                       },
                       [&](const kernel::Store &node) { store(node); },
                       [&](const kernel::Call &node) {
                         units_read_ = reads_tiles(node.intrinsic);
                         call(node);
                         units_read_ = false;
                       },
                       [&](const kernel::BulkCopy &node) { bulk_copy(node); },
                       [&](const kernel::Sync &node) { sync(node); },
                   });
  if (options_.observer && !stands_for_ && !kernel::as<kernel::Loop>(s) && !kernel::as<kernel::If>(s) &&
      !kernel::as<kernel::Seq>(s))
    options_.observer->statement_decoded({s, loops_}, values_);
  // A declared value lives until the end of the sequence that contains it.
  const auto *sync = kernel::as<kernel::Sync>(s);
  if (!kernel::as<kernel::Declare>(s) && !(sync && sync->declares()))
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
  if (reg >= decoded_.locals_begin && reg < decoded_.locals_end) {
    std::uint32_t copy = values_.allocate_temporary(v.dtype, v.uniform);
    values_.emit({.run = handlers_.copy(v.dtype), .dst = copy, .a = reg});
    reg = copy;
  }
  return values_.given({.dtype = v.dtype, .uniform = v.uniform, .pinned = true, .scope = v.scope, .reg = reg});
}

DecodedKernel decode(const kernel::Kernel &kernel, std::span<const Scalar> scalars,
                     const std::vector<GlobalBuffer> &buffers, const DecodeOptions &options) {
  return Decoder(kernel, buffers, options).decode(scalars);
}

} // namespace nestsmith::sim
