#include "runtime/model/request_counter.h"

#include "runtime/sim/machine.h"

#include <algorithm>
#include <tuple>

namespace nestsmith::model {

namespace {

/// If all addresses move by this number of elements, the cost does not change.
std::int64_t period(const sim::Access &access) {
  std::int64_t bytes = access.buffer->scope == Scope::global ? line_bytes : bank_bytes;
  return std::max<std::int64_t>(bytes / byte_size(access.buffer->dtype), 1);
}

/// An address as the sum of a constant, a part that depends only on the thread, and a rest that is known only
/// during the run.
struct Parts {
  std::int64_t constant = 0;
  std::vector<std::int64_t> threads; ///< relative to the first thread; one per warp if its lanes do not differ
  sim::Sum rest;
};

Parts parts_of(const sim::DecodedKernel &decoded, const sim::Values &values, const sim::Access &access,
               const sim::Sum &uniform) {
  Parts parts{access.address.constant, {}, {}};
  bool lanes = access.address.has_pattern();
  parts.threads.resize(std::size_t{decoded.warps} * (lanes ? sim::warp_size : 1));
  for (std::size_t n = 0; lanes && n < parts.threads.size(); ++n)
    parts.threads[n] =
        access.address.pattern(static_cast<std::uint32_t>(n / sim::warp_size)).offset[n % sim::warp_size];
  for (auto [term, coefficient] : uniform.terms) {
    const std::vector<std::int64_t> &table = values[term].table;
    if (table.empty())
      parts.rest.terms[term] = coefficient;
    for (std::size_t n = 0; !table.empty() && n < parts.threads.size(); ++n)
      parts.threads[n] += coefficient * table[lanes ? n : n * sim::warp_size];
  }
  std::int64_t first = parts.threads[0];
  for (std::int64_t &offset : parts.threads)
    offset -= first;
  parts.constant += first;
  return parts;
}

/// Whether the address without its constant is a multiple of this number of elements in every lane.
bool aligns(const sim::Values &values, const sim::Access &access, const Parts &parts, std::int64_t elements) {
  if (access.storage.byte_offset() / byte_size(access.buffer->dtype) % elements != 0)
    return false;
  for (auto [term, coefficient] : parts.rest.terms)
    if (coefficient % elements * values[term].multiple % elements != 0)
      return false;
  return std::all_of(parts.threads.begin(), parts.threads.end(),
                     [&](std::int64_t offset) { return offset % elements == 0; });
}

/// Loads whose addresses differ by constants only.
struct LoadGroup {
  Parts parts;                                 ///< of one of them
  std::map<std::int64_t, CountedAccess> loads; ///< by the constant of the address
};

/// The greatest number of elements, up to 16 bytes, that one access can load, starting at `first`. The compiler
/// does not know the alignment of arrays in global memory.
std::int64_t together(const sim::Values &values, const LoadGroup &group, std::int64_t first,
                      const sim::Access &access) {
  if (access.buffer->scope == Scope::global)
    return 1;
  for (std::int64_t count = 16 / byte_size(access.buffer->dtype); count > 1; count /= 2) {
    bool all = first % count == 0 && aligns(values, access, group.parts, count);
    for (std::int64_t n = 1; n < count; ++n)
      all = all && group.loads.contains(first + n);
    if (all)
      return count;
  }
  return 1;
}

/// Whether the uniform part of the address is always a multiple of the period.
bool on_phase(const sim::Access &access, const sim::Sum &uniform, const sim::Values &values) {
  return std::ranges::all_of(uniform.terms, [&](const auto &term) {
    return term.second % period(access) * values[term.first].multiple % period(access) == 0;
  });
}

const sim::Instr *count_phase(const sim::Instr *ip, sim::Warp &w) {
  static_cast<RequestHistograms &>(*w.machine->observation).phase(ip->b, w, reg<std::int64_t>(w, ip->a));
  return ip + 1;
}

const sim::Instr *count_request(const sim::Instr *ip, sim::Warp &w) {
  const sim::Access &access = *ip->access;
  std::uint32_t mask = w.active & reg<std::uint32_t>(w, access.mask);
  auto &histograms = static_cast<RequestHistograms &>(*w.machine->observation);
  if (mask == 0)
    return ip + 1;
  if (!access.address.is_computed()) {
    histograms.request(ip->b, w, mask, reg<std::int64_t>(w, access.address.base) + access.address.constant);
    return ip + 1;
  }
  RequestCost each = cost(request_now(access, w, mask), access.bytes, access.buffer->scope);
  histograms.sums[ip->b] += one_request(access.bytes, mask, each);
  return ip + 1;
}

} // namespace

void RequestCounter::begin() {
  done_ = false;
  accesses_ = {};
  addresses_.clear();
  known_bases_.clear();
}

void RequestCounter::access_decoded(const sim::ObservedAccess &seen, sim::Values &values) {
  if (done_)
    begin();
  sim::Access &access = seen.access;
  addresses_.push_back({seen.epoch, seen.index, seen.uniform});
  CountedAccess &counted = accesses_.all.emplace_back(
      CountedAccess{.access = &access, .region = seen.region, .bytes = access.bytes});
  bool pinned =
      std::ranges::any_of(seen.uniform.terms, [&](const auto &term) { return values[term.first].pinned; });
  if (seen.masked || pinned || access.address.is_computed()) {
    seen.need_base(values);
    counted.by = CountedBy::request;
    counted.number = accesses_.single++;
    values.emit({.run = count_request, .b = counted.number, .access = &access});
    return;
  }
  counted.phase = access.address.constant;
  if (on_phase(access, seen.uniform, values))
    return;
  seen.need_base(values);
  counted.by = CountedBy::phase;
  auto [it, fresh] = known_bases_.try_emplace({seen.region, access.address.base}, accesses_.bases);
  counted.number = it->second;
  if (fresh) {
    ++accesses_.bases;
    values.emit({.run = count_phase, .a = access.address.base, .b = counted.number});
  }
}

/// Merges loads whose addresses differ by constants. Equal addresses are loaded once, and neighbouring ones in
/// shared memory together, up to 16 bytes. A compiler that unrolls their loop does the same unless a store to
/// shared memory, or a barrier, lies between them, or the kernel stores to the array in global memory.
void RequestCounter::kernel_decoded(const sim::Values &values, const sim::DecodedKernel &decoded) {
  if (done_)
    begin();
  done_ = true;
  if (!merge_)
    return;
  using Key = std::tuple<std::uint32_t, std::uint32_t, Buffer, DType, std::vector<std::int64_t>, sim::Sum>;
  std::map<Key, LoadGroup> groups;
  for (std::size_t n = 0; n < accesses_.all.size(); ++n) {
    const CountedAccess &counted = accesses_.all[n];
    const sim::Access &access = *counted.access;
    bool constant = access.buffer->scope == Scope::shared || !decoded.stored[access.storage.slot];
    bool merges = !access.is_store && constant && counted.by == CountedBy::region &&
                  counted.bytes == byte_size(access.buffer->dtype);
    if (!merges) {
      accesses_.merged.push_back(counted);
      continue;
    }
    Parts parts = parts_of(decoded, values, access, addresses_[n].uniform);
    LoadGroup &group = groups[{counted.region, addresses_[n].epoch, access.buffer, addresses_[n].index,
                               parts.threads, parts.rest}];
    group.loads.try_emplace(parts.constant, counted);
    group.parts = std::move(parts);
  }
  for (const auto &[key, group] : groups)
    for (auto load = group.loads.begin(); load != group.loads.end();) {
      std::int64_t count = together(values, group, load->first, *load->second.access);
      accesses_.merged.push_back(load->second);
      accesses_.merged.back().bytes *= count;
      std::advance(load, count);
    }
}

std::unique_ptr<sim::Observation> RequestCounter::start(const sim::DecodedKernel &decoded) {
  return std::make_unique<RequestHistograms>(decoded, accesses_.bases, accesses_.single);
}

void RequestCounter::finish(const sim::DecodedKernel &decoded, const sim::Executions &executions,
                            const std::vector<std::unique_ptr<sim::Observation>> &parts) {
  RequestHistograms all = histograms(decoded);
  for (const std::unique_ptr<sim::Observation> &part : parts)
    all.add(static_cast<const RequestHistograms &>(*part));
  Counters &result = counters.emplace_back(evaluate(decoded, accesses_, executions, all));
  result.blocks = result.counted = static_cast<std::uint64_t>(decoded.blocks);
}

} // namespace nestsmith::model
