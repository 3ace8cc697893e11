/// Stores, and asynchronous copies with their groups.

#include "dsl/expr/error.h"
#include "runtime/sim/copies.h"
#include "runtime/sim/decoder.h"
#include "runtime/sim/memory.h"

#include <algorithm>
#include <utility>

namespace nestsmith::sim {

void Decoder::store(const kernel::Store &node) {
  internal_check(node.indices.size() == 1, "an access of a kernel has one index, an element offset");
  if (node.async && (computes() || node.count.exists()))
    return copy(node);
  note_store(node.buffer);
  if (node.lanes > 1)
    return store_vector(node);
  ValueId index = value(node.indices[0]);
  if (node.atomic)
    return update(node, index);
  bool local = node.buffer->scope == Scope::local;
  std::int64_t element = values_[index].constant.value_or(-1);
  bool fixed = local && element >= 0 && element < storage_.at(node.buffer).elements;
  if (!computes()) {
    (void)value(node.value);
    if (!local) {
      Access &access = make_store(node.buffer, index);
      count(access, false);
    }
    return;
  }
  if (fixed && accumulate(node, element))
    return;
  if (fixed)
    hint_ = storage_.at(node.buffer).local().element(element);
  ValueId stored = value(node.value);
  if (stores_box_)
    values_.emit({.run = start_store, .access = decoded_.accesses.back().get()});
  std::uint32_t hint = std::exchange(hint_, no_register);
  if (fixed)
    written_.insert({node.buffer, element});

  Access &access = make_store(node.buffer, index);
  if (!local && access.address.has_pattern())
    stored = values_.splat(stored);
  access.value = in_register(stored);
  count(access, false);
  if (fixed && access.value.at == hint)
    values_.emit({.run = handlers_.mark_written, .access = &access});
  else
    values_.emit({.run = handlers_.store(access), .access = &access});
}

void Decoder::note_store(const Buffer &buffer) {
  if (const Storage &storage = storage_.at(buffer);
      computes() && buffer->scope == Scope::shared && storage.shared().of_units)
    values_.emit({.run = note_tile, .c = storage.slot});
}

/// An atomic operation counts as a store.
void Decoder::update(const kernel::Store &node, ValueId index) {
  ValueId term = value(node.value);
  Access &access = make_store(node.buffer, index);
  access.atomic = true;
  count(access, false);
  if (!computes())
    return;
  access.value = in_register(term);
  DType dtype = node.buffer->dtype;
  std::size_t mark = values_.mark();
  std::uint32_t element = values_.allocate_temporary(dtype, true),
                combined = values_.allocate_temporary(dtype, true);
  values_.emit({.run = sim::update, .access = &access});
  values_.emit(
      {.run = handlers_.binary(op_of(*node.atomic), dtype, true), .dst = element, .a = element, .b = combined});
  values_.release(mark);
}

/// Computes all elements of the vector, then stores them one by one.
void Decoder::store_vector(const kernel::Store &node) {
  ValueId first = value(node.indices[0]);
  store_elements(node.buffer, first, vector(node.value), [](const Access &, std::size_t) {});
}

void Decoder::store_elements(const Buffer &buffer, ValueId first, const std::vector<ValueId> &values,
                             FunctionRef<void(const Access &, std::size_t)> stored) {
  const auto width = static_cast<int>(values.size());
  for (std::size_t n = 0; n < (computes() ? values.size() : 1); ++n) {
    ValueId step = values_.constant(values_[first].dtype, static_cast<std::int64_t>(n));
    Access &access = make_store(buffer, values_.binary(BinaryOp::add, first, step));
    access.bytes *= n == 0 ? width : 1;
    if (n == 0)
      count(access, false);
    if (!computes())
      return;
    access.value = in_register(access.address.has_pattern() ? values_.splat(values[n]) : values[n]);
    if (n == 0)
      first_of_vector(access, width);
    values_.emit({.run = handlers_.store(access), .access = &access});
    stored(access, n);
  }
}

/// Decodes `local[c] = local[c] + a * b` as one multiply-add. Returns false if the store has another form.
bool Decoder::accumulate(const kernel::Store &node, std::int64_t element) {
  const auto *add = node.value.as<Binary>();
  DType dtype = node.buffer->dtype;
  if (!add || add->op != BinaryOp::add || !has_multiply_add(dtype))
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
  std::uint32_t slot = storage_.at(node.buffer).local().element(element);
  count(dtype, &RegionCounts::multiply_adds);
  if (!values_[b].uniform && values_.reg(a) != slot && values_.reg(b) != slot) {
    values_.emit({.run = handlers_.accumulate(dtype, values_[a].uniform),
                  .dst = slot,
                  .a = values_.reg(a),
                  .b = values_.reg(b)});
  } else {
    ValueId sum = values_.multiply_add(old, a, b);
    Access &access = make_store(node.buffer, values_.constant(DType::i64, element));
    access.value = in_register(sum);
    values_.emit({.run = handlers_.store(access), .access = &access});
  }
  written_.insert({node.buffer, element});
  return true;
}

/// The source is loaded at once, from an address that is computed whether or not the mask holds, and the value
/// is kept until the wait.
void Decoder::copy(const kernel::Store &node) {
  const auto &source = *node.value.as<Load>();
  ValueId first = value(node.indices[0]);
  const Guard count_of_elements = node.count.exists() ? Guard(value(node.count)) : Guard();
  for (int n = 0; n < (computes() ? node.lanes : 1); ++n) {
    std::size_t before = decoded_.accesses.size();
    whole_address_ = reads_memory(source.indices[0]); // otherwise, no lane can tell
    if (count_of_elements) {
      const ValueId number = values_.constant(values_[*count_of_elements].dtype, n);
      exists_ = values_.binary(BinaryOp::lt, number, *count_of_elements);
    }
    ValueId loaded = load_element(source, {}, n);
    bool tracked = decoded_.accesses.size() > before && decoded_.stored[storage_.at(source.buffer).slot];
    const Access *from = tracked ? decoded_.accesses.back().get() : nullptr;
    ValueId step = values_.constant(values_[first].dtype, n);
    Access &access = make_store(node.buffer, values_.binary(BinaryOp::add, first, step));
    if (n == 0) {
      access.bytes *= node.lanes;
      count(access, false);
    }
    if (!computes())
      return;
    access.value = in_register(loaded);
    if (n == 0 && node.lanes > 1)
      first_of_vector(access, node.lanes);
    values_.emit({.run = to_cluster_ ? issue_copy_to_cluster : issue_copy,
                  .c = static_cast<std::uint32_t>(decoded_.copies.size()),
                  .access = &access});
    decoded_.copies.push_back(from);
  }
}

namespace {

Expr number(std::int64_t n) { return int_imm(n, DType::i64); }
Expr wide(const Expr &e) { return cast(DType::i64, e); }

/// threadIdx.x
Expr thread_of(const kernel::Kernel &kernel) {
  return wide(std::ranges::find(kernel.indices, Axis::thread_x, &kernel::ThreadIndex::axis)->var);
}

/// The offset of an element of a box in the array of the map, and whether the array has it.
struct PlaceInArray {
  Expr offset, exists;

  PlaceInArray(const kernel::TensorMap &map, const std::vector<Expr> &start, const Expr &element)
      : offset(number(0)) {
    Expr rest = element;
    const std::vector<Expr> strides = map.strides();
    for (std::size_t d = map.box.size(); d-- > 0;) {
      const Expr index = wide(start[d]) + floormod(rest, number(map.box[d]));
      rest = floordiv(rest, number(map.box[d]));
      offset = offset + index * wide(strides[d]);
      const Expr inside = number(0) <= index && index < wide(map.source->shape[d]);
      exists = exists.exists() ? exists && inside : inside;
    }
  }
};

} // namespace

/// The lanes of the issuing warp copy the elements of the box, as asynchronous copies of one element. So all
/// that is known of these holds for it: bounds, races, what is in flight, and what is counted.
void Decoder::bulk_copy(const kernel::BulkCopy &node) {
  if (node.stores())
    return bulk_store(node);
  const kernel::TensorMap &map = kernel_.maps[node.map];
  const auto &[channel, fill_number, to_cluster] = *node.fill;
  const Expr thread = thread_of(kernel_);
  const std::int64_t elements = map.elements(),
                     first = kernel_.roles[kernel_.channels[channel].role].first_warp,
                     rounds = (elements + warp_size - 1) / warp_size;
  const Var round = make_var("round");
  const Expr element = Expr(round) * number(warp_size) + floormod(thread, number(warp_size));
  const PlaceInArray from(map, node.start, element);
  made_ = nestsmith::load(node.array, {from.offset}, from.exists, nestsmith::constant(node.array->dtype, 0));
  kernel::Stmt copy =
      kernel::make(kernel::Store{node.tile, {wide(node.indices[0]) + map.place(element)}, made_, 1, true});
  if (elements % warp_size != 0)
    copy = kernel::make(kernel::If{element < number(elements), copy});
  stands_for_ = stmt_;
  const ValueId fill = value(fill_number);
  needs(fill);
  const ValueId issues = value(equal(floordiv(thread, number(warp_size)), number(first)));
  const kernel::Stmt all = kernel::make(kernel::Loop{round, number(rounds), kernel::Serial{}, copy});
  if (computes())
    values_.emit({.run = to_cluster ? start_box_to_cluster : start_box,
                  .dst = static_cast<std::uint32_t>(map.bytes()),
                  .a = values_.reg(fill),
                  .b = storage_.at(node.tile).slot,
                  .c = static_cast<std::uint32_t>(channel),
                  .imm = static_cast<std::int64_t>(site(nullptr))});
  to_cluster_ = to_cluster;
  guarded(issues, all);
  to_cluster_ = false;
  stands_for_ = nullptr;
  made_ = {};
}

/// The first lane of each warp copies the elements that the array has, one after the other.
void Decoder::bulk_store(const kernel::BulkCopy &node) {
  const kernel::TensorMap &map = kernel_.maps[node.map];
  const Var element = make_var("element");
  const Expr at = wide(element);
  const PlaceInArray to(map, node.start, at);
  made_ = nestsmith::load(node.tile, {wide(node.indices[0]) + map.place(at)});
  const kernel::Stmt copy =
      kernel::make(kernel::If{to.exists, kernel::make(kernel::Store{node.array, {to.offset}, made_})});
  stands_for_ = stmt_;
  if (computes())
    values_.emit({.run = check_fenced,
                  .c = storage_.at(node.tile).slot,
                  .imm = static_cast<std::int64_t>(site(made_.as<Load>()))});
  const ValueId issues = value(equal(floormod(thread_of(kernel_), number(warp_size)), number(0)));
  stores_box_ = true;
  guarded(issues, kernel::make(kernel::Loop{element, number(map.elements()), kernel::Serial{}, copy}));
  stores_box_ = false;
  stands_for_ = nullptr;
  made_ = {};
}

void Decoder::commit(const kernel::Commit &node) {
  if (node.queue == kernel::Queue::stores) {
    if (computes())
      values_.emit({.run = commit_stores});
    return;
  }
  const bool copies = node.queue == kernel::Queue::copies;
  if (copies ? computes() : !decoded_.sums.empty())
    values_.emit({.run = copies ? commit_copies : commit_calls});
}

void Decoder::wait(const kernel::Wait &node) {
  if (node.queue == kernel::Queue::calls)
    return wait_for_calls(node);
  ++epoch_;
  if (!computes())
    return;
  std::uint32_t at = site(nullptr);
  if (node.queue == kernel::Queue::stores) {
    for (const Buffer &tile : kernel::stored_tiles(kernel_)) {
      Access &access = make_access(tile, nullptr, values_.constant(DType::i64, 0));
      access.site = at;
      values_.emit(
          {.run = wait_stores, .c = static_cast<std::uint32_t>(node.pending), .imm = at, .access = &access});
    }
    return;
  }
  for (const Buffer &buffer : copied_) { // for explanations
    Access &access = make_access(buffer, nullptr, values_.constant(DType::i64, 0));
    access.site = at;
    access.is_store = true;
  }
  values_.emit({.run = wait_copies, .c = static_cast<std::uint32_t>(node.pending), .imm = at});
}

void Decoder::wait_for_calls(const kernel::Wait &node) {
  if (decoded_.sums.empty())
    return;
  std::uint64_t named = 0;
  for (const Buffer &sums : node.sums)
    if (const auto number = number_of_sums(sums))
      named |= bit_of(*number);
  values_.emit({.run = wait_calls,
                .c = static_cast<std::uint32_t>(node.pending),
                .imm = static_cast<std::int64_t>(named)});
}

} // namespace nestsmith::sim
