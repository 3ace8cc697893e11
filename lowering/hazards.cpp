#include "lowering/hazards.h"

#include <algorithm>
#include <tuple>

namespace nestsmith::kernel {

void Accesses::add(std::vector<SharedAccess> &list, const SharedAccess &access) {
  if (std::find(list.begin(), list.end(), access) == list.end())
    list.push_back(access);
}

void Accesses::join(const Accesses &other) {
  for (const SharedAccess &access : other.reads)
    add(reads, access);
  for (const SharedAccess &access : other.writes)
    add(writes, access);
}

namespace {

/// Applies `change` to each access, and drops those for which it returns false.
template <class F> Accesses changed(const Accesses &accesses, const F &change) {
  Accesses result;
  for (SharedAccess access : accesses.reads)
    if (change(access))
      Accesses::add(result.reads, access);
  for (SharedAccess access : accesses.writes)
    if (change(access))
      Accesses::add(result.writes, access);
  return result;
}

/// Whether two accesses may use the same copy, or the same memory.
/// [rule.slots.meet] (b - a)//c = (i + b)//c - (i + a)//c, (b - a) % c = 0
///     where c > 0, (i + a) % c = (i + b) % c
bool meet(const SearchedBuffers &searched, const SharedAccess &first, const SharedAccess &second) {
  if (first.buffer != second.buffer)
    return searched.overlapping.contains({first.buffer, second.buffer});
  if (first.own || second.own || !searched.buffers.contains(first.buffer))
    return false;
  if (!first.slot || !second.slot || first.slot->loop != second.slot->loop)
    return true;
  return (second.slot->at - first.slot->at) % first.slot->count == 0;
}

} // namespace

Accesses Accesses::guarded(const FirstIterations &until) const {
  return changed(*this, [&](SharedAccess &access) {
    access.until = access.until.value_or(until);
    return true;
  });
}

Accesses Accesses::later(const Var &loop, std::int64_t distance) const {
  return changed(*this, [&](SharedAccess &access) {
    if (access.slot && access.slot->loop == loop)
      access.slot->at += distance;
    if (!access.until || access.until->loop != loop)
      return true;
    access.until->last -= distance;
    return access.until->last >= 0;
  });
}

Accesses Accesses::outside(const Var &loop, std::optional<std::int64_t> at) const {
  return changed(*this, [&](SharedAccess &access) {
    if (access.until && access.until->loop == loop) {
      if (at && access.until->last < *at)
        return false;
      access.until.reset();
    }
    if (access.slot && access.slot->loop == loop && at)
      access.slot = Slot{nullptr, (access.slot->at + *at) % access.slot->count, access.slot->count};
    else if (access.slot && access.slot->loop == loop)
      access.slot.reset();
    return true;
  });
}

std::vector<Hazard> hazards_between(const SearchedBuffers &searched, const Accesses &before,
                                    const Accesses &after, const Distance &distance) {
  using Kind = Hazard::Kind;
  std::vector<Hazard> hazards;
  auto compare = [&](Kind kind, const std::vector<SharedAccess> &earlier,
                     const std::vector<SharedAccess> &then) {
    for (const SharedAccess &a : earlier)
      for (const SharedAccess &b : then) {
        bool same = a.buffer == b.buffer;
        if (b.landing || (kind == Kind::write_after_write && same) || !meet(searched, a, b))
          continue;
        Buffer reader = kind == Kind::write_after_read ? a.by : kind == Kind::read_after_write ? b.by : nullptr;
        add_hazards(hazards,
                    {{kind, b.buffer, reader, distance.loop, distance.iterations, same ? nullptr : a.buffer}});
      }
  };
  compare(Kind::read_after_write, before.writes, after.reads);
  compare(Kind::write_after_read, before.reads, after.writes);
  compare(Kind::write_after_write, before.writes, after.writes);
  return hazards;
}

void add_hazards(std::vector<Hazard> &known, const std::vector<Hazard> &more) {
  auto key = [](const Hazard &hazard) {
    return std::tie(hazard.kind, hazard.buffer, hazard.reader, hazard.tenant);
  };
  for (const Hazard &hazard : more)
    if (std::none_of(known.begin(), known.end(),
                     [&](const Hazard &other) { return key(hazard) == key(other); }))
      known.push_back(hazard);
}

UsedParameters used_parameters(const Stmt &root) {
  UsedParameters used;
  auto add = [](std::vector<Buffer> &list, const Buffer &buffer) {
    if (buffer && buffer->scope == Scope::global && std::ranges::find(list, buffer) == list.end())
      list.push_back(buffer);
  };
  walk_exprs(root, [&](const Expr &e) {
    if (const auto *access = e.as<Load>())
      add(used.read, access->buffer);
  });
  walk(root, [&](const Stmt &stmt) {
    if (const auto *copy = as<BulkCopy>(stmt); copy && !copy->stores())
      add(used.read, copy->array);
    if (const auto *sync = as<Sync>(stmt))
      add(used.written, sync->updates());
    add(used.written, written_by(stmt));
  });
  return used;
}

bool uses_any(const Stmt &root, const std::vector<Buffer> &arrays) {
  const UsedParameters used = used_parameters(root);
  auto in = [](const std::vector<Buffer> &list, const Buffer &array) {
    return std::ranges::find(list, array) != list.end();
  };
  return std::ranges::any_of(
      arrays, [&](const Buffer &array) { return in(used.read, array) || in(used.written, array); });
}

OfProgram::OfProgram(const Kernel &kernel) {
  for (const auto *list : {&kernel.shared, &kernel.local})
    for (const Allocation &allocation : *list)
      if (allocation.origin)
        buffers_.emplace(allocation.buffer, std::get<Buffer>(allocation.origin->front()));
  walk(kernel.body, [&](const Stmt &stmt) {
    const auto *loop = as<Loop>(stmt);
    const Var *source = loop && stmt->origin ? std::get_if<Var>(&stmt->origin->front()) : nullptr;
    if (source)
      loops_.emplace(loop->var, *source);
  });
}

Buffer OfProgram::operator()(const Buffer &buffer) const {
  auto found = buffers_.find(buffer);
  return found == buffers_.end() ? buffer : found->second;
}

Var OfProgram::operator()(const Var &loop) const {
  auto found = loops_.find(loop);
  return found == loops_.end() ? loop : found->second;
}

Hazard OfProgram::operator()(const Hazard &hazard) const {
  return {hazard.kind,          (*this)(hazard.buffer), (*this)(hazard.reader),
          (*this)(hazard.loop), hazard.distance,        (*this)(hazard.tenant)};
}

} // namespace nestsmith::kernel
