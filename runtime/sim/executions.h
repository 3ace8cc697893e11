#pragma once
/// Execution counts of one machine: for each region of a kernel, warp, and set of active lanes.

#include "runtime/sim/warp.h"

#include <array>
#include <map>

namespace nestsmith::sim {

struct Executions {
  /// Region, warp, and mask of the active lanes.
  using Key = std::array<std::uint32_t, 3>;
  using Times = std::map<Key, std::uint64_t>;

  explicit Executions(const DecodedKernel &decoded);

  /// Counts `times` executions of a region by `w`.
  void add(std::uint32_t region, const Warp &w, std::uint64_t times) {
    if (w.active == w.live)
      full[region * warps + w.index] += times;
    else
      add_partly(region, w, times);
  }
  void add(const Executions &other, std::uint64_t times = 1);
  void clear();

  /// Calls f(region, warp, lanes, times) for each combination that was executed.
  template <class F> void each(const DecodedKernel &decoded, F &&f) const;

  std::uint32_t warps;
  std::vector<std::uint64_t> full; ///< executions by all live lanes, at index region * warps + warp
  Times partial;                   ///< executions by only some of the live lanes
  std::uint64_t divergent = 0;     ///< branches that only some active lanes of a warp took

private:
  void add_partly(std::uint32_t region, const Warp &w, std::uint64_t times);
  /// A cache: for each region and warp, the entry of `partial` that was incremented last. The next execution
  /// usually increments the same entry.
  std::vector<Times::value_type *> last_;
};

template <class F> void Executions::each(const DecodedKernel &decoded, F &&f) const {
  for (std::uint32_t region = 0; region < decoded.regions.size(); ++region)
    for (std::uint32_t warp = 0; warp < warps; ++warp)
      if (std::uint64_t times = full[region * warps + warp])
        f(region, warp, live_lanes(decoded, warp), times);
  for (const auto &[key, times] : partial)
    f(key[0], key[1], key[2], times);
}

} // namespace nestsmith::sim
