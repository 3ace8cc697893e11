#include "runtime/sim/tally.h"

#include <algorithm>

namespace nestsmith::sim {

Tally::Tally(const Program &program)
    : warps(program.warps), full(program.regions.size() * program.warps),
      base_phases(std::size_t{program.bases} * program.warps * phases), sums(program.single),
      last_partial_(full.size()), last_request_(std::size_t{program.single} * program.warps) {}

void Tally::count(Times &all, Last &last, const Key &key, std::uint64_t times) {
  if (last == nullptr || last->first != key)
    last = &*all.try_emplace(key, 0).first;
  last->second += times;
}

void Tally::run_partly(std::uint32_t region, const Warp &w, std::uint64_t times) {
  count(partial, last_partial_[region * warps + w.index], {region, w.index, w.active, 0}, times);
}

void Tally::request(std::uint32_t number, const Warp &w, std::uint32_t mask, std::int64_t base) {
  auto at = static_cast<std::uint32_t>(base) % phases;
  count(requests, last_request_[number * warps + w.index], {number, w.index, mask, at}, 1);
}

void Tally::add(const Tally &other, std::uint64_t times) {
  auto add_all = [&](std::vector<std::uint64_t> &to, const std::vector<std::uint64_t> &from) {
    for (std::size_t n = 0; n < to.size(); ++n)
      to[n] += from[n] * times;
  };
  auto add_times = [&](Times &to, const Times &from) {
    for (const auto &[key, count] : from)
      to[key] += count * times;
  };
  add_all(full, other.full);
  add_all(base_phases, other.base_phases);
  add_times(partial, other.partial);
  add_times(partial_phases, other.partial_phases);
  add_times(requests, other.requests);
  for (std::size_t n = 0; n < sums.size(); ++n)
    sums[n] += other.sums[n] * times;
  divergent += other.divergent * times;
}

void Tally::clear() {
  std::fill(full.begin(), full.end(), 0);
  std::fill(base_phases.begin(), base_phases.end(), 0);
  std::fill(last_partial_.begin(), last_partial_.end(), nullptr);
  std::fill(last_request_.begin(), last_request_.end(), nullptr);
  std::fill(sums.begin(), sums.end(), RequestSums{});
  partial.clear();
  partial_phases.clear();
  requests.clear();
  divergent = 0;
}

} // namespace nestsmith::sim
