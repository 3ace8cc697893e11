#pragma once
/// The requests of one machine, counted by the properties that determine their costs: the lanes, and the
/// *phase*, the position of the address within 128 bytes. The costs are computed after all blocks have finished
/// (evaluate.h).

#include "runtime/model/counters.h"
#include "runtime/sim/observer.h"

#include <array>
#include <map>

namespace nestsmith::model {

inline constexpr std::uint32_t phases = 64; ///< of a base, in elements: 128 bytes of the smallest type

struct Tally : sim::Observation {
  /// Number of the base or access; warp; lanes; phase.
  using Key = std::array<std::uint32_t, 4>;
  using Times = std::map<Key, std::uint64_t>;

  /// `bases` and `single` are the numbers of bases and of singly counted accesses (counting.h).
  Tally(const sim::Program &program, std::uint32_t bases, std::uint32_t single);

  /// Counts a uniform part of addresses that equals `base`, in elements.
  void phase(std::uint32_t number, const sim::Warp &w, std::int64_t base) {
    auto at = static_cast<std::uint32_t>(base) % phases;
    if (w.active == w.live)
      ++base_phases[(number * warps + w.index) * phases + at];
    else
      ++partial_phases[{number, w.index, w.active, at}];
  }
  void request(std::uint32_t number, const sim::Warp &w, std::uint32_t mask, std::int64_t base);
  void add(const Tally &other, std::uint64_t times = 1);
  void clear();

  std::uint32_t warps;
  std::vector<std::uint64_t> base_phases; ///< bases, by all live lanes of each warp, by phase
  Times partial_phases;                   ///< bases, by fewer lanes
  Times requests;                         ///< accesses that are counted singly
  /// Summed costs of accesses at addresses without a pattern, by the number of the access.
  std::vector<RequestSums> sums;

private:
  /// The last counted entry of each access and warp, as a cache: it is usually the next one too.
  std::vector<Times::value_type *> last_;
};

} // namespace nestsmith::model
