#include "runtime/sim/executions.h"

#include <algorithm>

namespace nestsmith::sim {

Executions::Executions(const DecodedKernel &decoded)
    : warps(decoded.warps), full(decoded.regions.size() * decoded.warps), last_(full.size()) {}

void Executions::add_partly(std::uint32_t region, const Warp &w, std::uint64_t times) {
  Times::value_type *&last = last_[region * warps + w.index];
  Key key{region, w.index, w.active};
  if (last == nullptr || last->first != key)
    last = &*partial.try_emplace(key, 0).first;
  last->second += times;
}

void Executions::add(const Executions &other, std::uint64_t times) {
  for (std::size_t n = 0; n < full.size(); ++n)
    full[n] += other.full[n] * times;
  for (const auto &[key, count] : other.partial)
    partial[key] += count * times;
  divergent += other.divergent * times;
}

void Executions::clear() {
  std::fill(full.begin(), full.end(), 0);
  std::fill(last_.begin(), last_.end(), nullptr);
  partial.clear();
  divergent = 0;
}

} // namespace nestsmith::sim
