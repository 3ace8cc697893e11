/// How the decoder counts accesses: by what is known of their addresses before the run.

#include "runtime/sim/decoder.h"

#include <algorithm>
#include <tuple>

namespace nestsmith::sim {

namespace {

/// Moving all addresses by so many elements changes no cost.
std::int64_t period(const Access &access) {
  std::int64_t bytes = access.buffer->scope == Scope::global ? line_bytes : bank_bytes;
  return std::max<std::int64_t>(bytes / byte_size(access.buffer->dtype), 1);
}

/// An address as a constant, what each thread adds to it, and what is not known before the run.
struct Parts {
  std::int64_t constant = 0;
  std::vector<std::int64_t> threads; ///< from the first thread's; of every 32nd where lanes do not differ
  Sum rest;
};

Parts parts_of(const Program &program, const Values &values, const Access &access, const Sum &uniform) {
  Parts parts{access.constant, {}, {}};
  bool lanes = access.kind == AddressKind::pattern;
  parts.threads.resize(std::size_t{program.warps} * (lanes ? warp_size : 1));
  for (std::size_t n = 0; lanes && n < parts.threads.size(); ++n)
    parts.threads[n] = access.patterns[n / warp_size].offset[n % warp_size];
  for (auto [term, coefficient] : uniform.terms) {
    const std::vector<std::int64_t> &table = values[term].table;
    if (table.empty())
      parts.rest.terms[term] = coefficient;
    for (std::size_t n = 0; !table.empty() && n < parts.threads.size(); ++n)
      parts.threads[n] += coefficient * table[lanes ? n : n * warp_size];
  }
  std::int64_t first = parts.threads[0];
  for (std::int64_t &offset : parts.threads)
    offset -= first;
  parts.constant += first;
  return parts;
}

/// Whether all of the address but its constant is a multiple of so many elements, in every lane.
bool aligns(const Values &values, const Access &access, const Parts &parts, std::int64_t elements) {
  if (access.byte_offset / byte_size(access.buffer->dtype) % elements != 0)
    return false;
  for (auto [term, coefficient] : parts.rest.terms)
    if (coefficient % elements * values[term].multiple % elements != 0)
      return false;
  return std::all_of(parts.threads.begin(), parts.threads.end(),
                     [&](std::int64_t offset) { return offset % elements == 0; });
}

/// Loads whose addresses differ by constants, by these, and the parts of the first.
struct LoadGroup {
  Parts parts;
  std::map<std::int64_t, const Access *> loads;
};

/// The most elements, up to 16 bytes, that one access can load from `first` on.
std::int64_t together(const Values &values, const LoadGroup &group, std::int64_t first, const Access &access) {
  for (std::int64_t count = 16 / byte_size(access.buffer->dtype); count > 1; count /= 2) {
    bool all = first % count == 0 && aligns(values, access, group.parts, count);
    for (std::int64_t n = 1; n < count; ++n)
      all = all && group.loads.contains(first + n);
    if (all)
      return count;
  }
  return 1;
}

} // namespace

/// Loads of shared memory whose addresses differ by constants: once each, and neighbours at once, up to 16
/// bytes. A compiler that unrolls their loop does so where nothing is stored or waited for between them.
void Decoder::merge_loads() {
  using Key = std::tuple<std::uint32_t, std::uint32_t, Buffer, DType, std::vector<std::int64_t>, Sum>;
  std::map<Key, LoadGroup> groups;
  for (auto [access, region] : program_.tallied) {
    bool merges = !access->is_store && access->buffer->scope == Scope::shared &&
                  access->tallied == Tallied::by_region && access->bytes == byte_size(access->buffer->dtype);
    if (!merges) {
      program_.merged.emplace_back(access, region);
      continue;
    }
    const auto &[dtype, uniform] = uniform_parts_.at(access);
    Parts parts = parts_of(program_, values_, *access, uniform);
    LoadGroup &group = groups[{region, access->counter, access->buffer, dtype, parts.threads, parts.rest}];
    group.loads.try_emplace(parts.constant, access);
    group.parts = std::move(parts);
  }
  for (const auto &[key, group] : groups)
    for (auto load = group.loads.begin(); load != group.loads.end();) {
      std::int64_t count = together(values_, group, load->first, *load->second);
      Access &wide = *program_.accesses.emplace_back(std::make_unique<Access>(*load->second));
      wide.bytes *= count;
      program_.merged.emplace_back(&wide, std::get<0>(key));
      std::advance(load, count);
    }
}

/// Whether the uniform part is always a multiple of the period.
bool Decoder::on_phase(const Access &access, const Sum &uniform) const {
  for (auto [term, coefficient] : uniform.terms)
    if (coefficient % period(access) * values_[term].multiple % period(access) != 0)
      return false;
  return true;
}

void Decoder::tally(Access &access, bool masked) {
  const auto &[dtype, uniform] = uniform_parts_.at(&access);
  bool pinned = false;
  for (auto [term, coefficient] : uniform.terms)
    pinned = pinned || values_[term].pinned;
  if (masked || pinned || access.kind == AddressKind::lanes) {
    set_base(access, dtype, uniform);
    access.tallied = Tallied::singly;
    access.counter = program_.single++;
    values_.emit({.run = count_request, .access = &access});
    return;
  }
  access.phase = access.constant;
  access.counter = epoch_;
  if (on_phase(access, uniform)) {
    access.tallied = Tallied::by_region;
    return;
  }
  set_base(access, dtype, uniform);
  access.tallied = Tallied::by_phase;
  auto [it, fresh] = bases_.try_emplace({region_, access.base}, program_.bases);
  access.counter = it->second;
  if (fresh) {
    ++program_.bases;
    values_.emit({.run = count_phase, .a = access.base, .b = access.counter});
  }
}

} // namespace nestsmith::sim
