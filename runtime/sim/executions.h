#pragma once
/// Execution counts of one machine: for each region of a program, by lanes.

#include "runtime/sim/program.h"

#include <array>
#include <map>

namespace nestsmith::sim {

struct Executions {
  /// Region, warp, lanes.
  using Key = std::array<std::uint32_t, 3>;
  using Times = std::map<Key, std::uint64_t>;

  explicit Executions(const Program &program);

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
  template <class F> void each(const Program &program, F &&f) const;

  std::uint32_t warps;
  std::vector<std::uint64_t> full; ///< by all live lanes of each warp
  Times partial;                   ///< by fewer lanes
  std::uint64_t divergent = 0;     ///< branches that only some active lanes of a warp took

private:
  void add_partly(std::uint32_t region, const Warp &w, std::uint64_t times);
  /// The last counted entry of each region and warp, as a cache: it is usually the next one too.
  std::vector<Times::value_type *> last_;
};

template <class F> void Executions::each(const Program &program, F &&f) const {
  for (std::uint32_t region = 0; region < program.regions.size(); ++region)
    for (std::uint32_t warp = 0; warp < warps; ++warp)
      if (std::uint64_t times = full[region * warps + warp])
        f(region, warp, live_lanes(program, warp), times);
  for (const auto &[key, times] : partial)
    f(key[0], key[1], key[2], times);
}

} // namespace nestsmith::sim
