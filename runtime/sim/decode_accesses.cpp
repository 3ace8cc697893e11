/// Accesses: where the element is, and how the lanes of a warp address it.

#include "dsl/expr/error.h"
#include "runtime/sim/decoder.h"
#include "runtime/sim/memory.h"

#include <algorithm>
#include <map>

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

Access &Decoder::make_access(const Buffer &buffer, const Load *load, ValueId index) {
  auto it = storage_.find(buffer);
  internal_check(it != storage_.end(), "a kernel accesses a buffer that it does not declare");
  const Storage &storage = it->second;
  Access &access = *decoded_.accesses.emplace_back(std::make_unique<Access>());
  access.site = site(load);
  access.buffer = buffer;
  access.storage = storage;
  access.bytes = byte_size(buffer->dtype);
  access.checked = check_;
  if (buffer->scope == Scope::global)
    access.checked = check_ && (decoded_.stored[storage.slot] || !buffers_[storage.slot].starts_written);
  set_address(access, index);
  return access;
}

Access &Decoder::make_store(const Buffer &buffer, ValueId index) {
  Access &access = make_access(buffer, nullptr, index);
  access.is_store = true;
  return access;
}

void Decoder::set_address(Access &access, ValueId index) {
  DType dtype = values_[index].dtype;
  internal_check(is_index(dtype), "an index that is neither i32 nor i64");
  Address &address = access.address;
  address.wraps = dtype == DType::i32;
  Sum uniform{.terms = {}, .constant = 0}, lanes = uniform, all = values_.as_sum(index);
  address.constant = all.constant;
  for (auto [term, coefficient] : all.terms)
    (values_[term].uniform ? uniform : lanes).terms[term] = coefficient;
  for (auto [term, coefficient] : all.terms)
    needs(term);
  if (computes() && !uniform.terms.empty())
    address.base = values_.reg(values_.sum(dtype, uniform));
  if (access.buffer->scope != Scope::local && options_.observer)
    uniform_parts_[&access] = {dtype, std::move(uniform)};
  if (lanes.terms.empty())
    return;
  ValueId id = values_.sum(dtype, lanes);
  const auto &table = values_[id].table;
  auto fits = [](std::int64_t v) { return v == static_cast<std::int32_t>(v); };
  if (!table.empty() && std::all_of(table.begin(), table.end(), fits))
    address.lane_offset = patterns_of(id);
  else
    address.lane_offset = Address::LaneOffsets{values_.reg(id), dtype == DType::i64};
}

/// An access to several elements must start at a multiple of their number.
void Decoder::first_of_vector(Access &access, int lanes) {
  access.vector = {.lanes = lanes, .aligned = !access.address.is_computed()};
  for (std::uint32_t warp = 0; access.address.has_pattern() && warp < decoded_.warps; ++warp)
    for (std::int32_t offset : access.address.pattern(warp).offset)
      access.vector.aligned = access.vector.aligned && offset % lanes == 0;
  values_.emit({.run = check_aligned, .access = &access});
}

const Pattern *Decoder::patterns_of(ValueId table) {
  const Pattern *&known = patterns_[table];
  if (!known)
    known = add_patterns(values_[table].table);
  return known;
}

/// The pattern of a warp whose lanes all use one address.
const Pattern *Decoder::one_address() {
  if (!one_address_)
    one_address_ = add_patterns(std::vector<std::int64_t>(std::size_t{decoded_.warps} * warp_size));
  return one_address_;
}

const Pattern *Decoder::add_patterns(const std::vector<std::int64_t> &of_threads) {
  auto &list = *decoded_.patterns.emplace_back(std::make_unique<std::vector<Pattern>>());
  for (std::uint32_t warp = 0; warp < decoded_.warps; ++warp)
    list.push_back(make_pattern(of_threads.data() + std::size_t{warp} * warp_size,
                                std::min<std::uint32_t>(decoded_.threads - warp * warp_size, warp_size)));
  return list.data();
}

void Decoder::count(Access &access, bool masked) {
  RegionCounts &counts = decoded_.regions[region_];
  if (!masked && access.buffer->scope == Scope::global)
    ++(access.is_store ? counts.stores_global : counts.loads_global);
  else if (!masked && access.buffer->scope == Scope::shared)
    ++(access.is_store ? counts.stores_shared : counts.loads_shared);
  if (access.buffer->scope == Scope::local)
    return;
  epoch_ += access.is_store && access.buffer->scope == Scope::shared;
  if (access.buffer->scope == Scope::global)
    check_awaited(access.buffer, &access, access.site);
  if (!options_.observer)
    return;
  const auto &[dtype, uniform] = uniform_parts_.at(&access);
  options_.observer->access_decoded({access, region_, epoch_, masked, dtype, uniform}, values_);
}

void Decoder::check_awaited(const Buffer &buffer, const Access *access, std::uint32_t site) {
  const std::vector<Buffer> &needed = kernel_.awaited;
  if (!awaited_ && computes() && (needed.empty() || std::ranges::find(needed, buffer) != needed.end()))
    values_.emit({.run = report_early, .imm = static_cast<std::int64_t>(site), .access = access});
}

std::uint32_t Decoder::site(const Load *load) {
  auto source = sources_.try_emplace({stmt_.get(), load}, static_cast<int>(sources_.size())).first->second;
  bool made = made_.exists() && made_.as<Load>() == load;
  decoded_.sites.push_back({stmt_, load, source, loops_, made ? made_ : Expr()});
  return static_cast<std::uint32_t>(decoded_.sites.size() - 1);
}

} // namespace nestsmith::sim
