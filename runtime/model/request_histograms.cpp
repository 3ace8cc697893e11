#include "runtime/model/request_histograms.h"

#include <algorithm>

namespace nestsmith::model {

RequestHistograms::RequestHistograms(const sim::DecodedKernel &decoded, std::uint32_t bases,
                                     std::uint32_t single)
    : warps(decoded.warps), base_phases(std::size_t{bases} * decoded.warps * phases), sums(single),
      last_(std::size_t{single} * decoded.warps) {}

void RequestHistograms::request(std::uint32_t number, const sim::Warp &w, std::uint32_t mask,
                                std::int64_t base) {
  Key key{number, w.index, mask, static_cast<std::uint32_t>(base) % phases};
  Times::value_type *&last = last_[number * warps + w.index];
  if (last == nullptr || last->first != key)
    last = &*requests.try_emplace(key, 0).first;
  ++last->second;
}

void RequestHistograms::add(const RequestHistograms &other, std::uint64_t times) {
  auto add_times = [&](Times &to, const Times &from) {
    for (const auto &[key, count] : from)
      to[key] += count * times;
  };
  for (std::size_t n = 0; n < base_phases.size(); ++n)
    base_phases[n] += other.base_phases[n] * times;
  add_times(partial_phases, other.partial_phases);
  add_times(requests, other.requests);
  for (std::size_t n = 0; n < sums.size(); ++n)
    sums[n] += other.sums[n] * times;
}

void RequestHistograms::clear() {
  std::fill(base_phases.begin(), base_phases.end(), 0);
  std::fill(last_.begin(), last_.end(), nullptr);
  std::fill(sums.begin(), sums.end(), RequestSums{});
  partial_phases.clear();
  requests.clear();
}

} // namespace nestsmith::model
