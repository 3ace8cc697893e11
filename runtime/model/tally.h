#pragma once
/// The requests of one machine, counted by what determines their costs: the lanes that make the request and its
/// *phase*, the position of the address within 128 bytes. The costs follow once all blocks have run
/// (evaluate.h).

#include "runtime/model/counters.h"
#include "runtime/sim/observer.h"

#include <array>
#include <map>

namespace nestsmith::model {

inline constexpr std::uint32_t phases = 64; ///< of a base, in elements: 128 bytes of the narrowest type

struct Tally : sim::Observation {
  /// Number of the base or the access; warp; lanes; phase.
  using Key = std::array<std::uint32_t, 4>;
  using Times = std::map<Key, std::uint64_t>;

  /// `bases` and `single`: how many are counted, of each kind (counting.h).
  Tally(const sim::Program &program, std::uint32_t bases, std::uint32_t single);

  /// The uniform part of addresses is `base`, in elements.
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
  /// Accesses whose addresses have no pattern: the summed costs of their requests, by the number of the access.
  std::vector<RequestSums> sums;

private:
  /// The entry that each access and warp counted last: most often the next one is the same.
  std::vector<Times::value_type *> last_;
};

} // namespace nestsmith::model
