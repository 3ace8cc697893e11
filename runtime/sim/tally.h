#pragma once
/// How often what was executed, as one machine counts it. Not the costs: counters.h has those, which follow
/// from a tally once all blocks have run.

#include "runtime/sim/counters.h"
#include "runtime/sim/program.h"

#include <array>
#include <map>

namespace nestsmith::sim {

inline constexpr std::uint32_t phases = 64; ///< of a base, in elements: 128 bytes of the narrowest

struct Tally {
  /// Number of the region, the base or the access; warp; lanes; phase.
  using Key = std::array<std::uint32_t, 4>;
  using Times = std::map<Key, std::uint64_t>;

  explicit Tally(const Program &program);

  /// `w` executes a region so many times.
  void run(std::uint32_t region, const Warp &w, std::uint64_t times) {
    if (w.active == w.live)
      full[region * warps + w.index] += times;
    else
      run_partly(region, w, times);
  }
  /// The uniform part of addresses is `base`, in elements.
  void phase(std::uint32_t number, const Warp &w, std::int64_t base) {
    auto at = static_cast<std::uint32_t>(base) % phases;
    if (w.active == w.live)
      ++base_phases[(number * warps + w.index) * phases + at];
    else
      ++partial_phases[{number, w.index, w.active, at}];
  }
  void request(std::uint32_t number, const Warp &w, std::uint32_t mask, std::int64_t base);
  void add(const Tally &other, std::uint64_t times = 1);
  void clear();

  /// How often each region was executed: by the lanes of a mask, of a warp.
  template <class F> void each_run(const Program &program, F &&f) const;

  std::uint32_t warps;
  std::vector<std::uint64_t> full;        ///< regions, by all live lanes of each warp
  Times partial;                          ///< regions, by fewer
  std::vector<std::uint64_t> base_phases; ///< bases, by all live lanes of each warp, by phase
  Times partial_phases;
  Times requests; ///< accesses that are counted singly
  /// Accesses at addresses of no pattern: the sums of what their requests cost, by the number of the access.
  std::vector<RequestSums> sums;
  std::uint64_t divergent = 0;

private:
  void run_partly(std::uint32_t region, const Warp &w, std::uint64_t times);
  /// What was counted last by a warp, of each region and access: most often it is counted again.
  using Last = Times::value_type *;
  static void count(Times &all, Last &last, const Key &key, std::uint64_t times);
  std::vector<Last> last_partial_, last_request_;
};

template <class F> void Tally::each_run(const Program &program, F &&f) const {
  for (std::uint32_t region = 0; region < program.regions.size(); ++region)
    for (std::uint32_t warp = 0; warp < warps; ++warp)
      if (std::uint64_t times = full[region * warps + warp])
        f(region, warp, live_lanes(program, warp), times);
  for (const auto &[key, times] : partial)
    f(key[0], key[1], key[2], times);
}

} // namespace nestsmith::sim
