#pragma once
/// Histograms of the requests of one machine, by the properties that determine their costs: the active lanes,
/// and the *phase*, which is the address in elements modulo `phases`. A *base* is the uniform part of an
/// address, which several accesses can share. The costs are computed after all blocks have finished
/// (evaluate.h).

#include "runtime/model/counters.h"
#include "runtime/sim/observer.h"

#include <array>
#include <map>

namespace nestsmith::model {

inline constexpr std::uint32_t phases = 64; ///< 128 bytes / 2 bytes, the size of the smallest element type

struct RequestHistograms : sim::Observation {
  /// Number of the base or of the access; warp; mask of the active lanes; phase.
  using Key = std::array<std::uint32_t, 4>;
  using Times = std::map<Key, std::uint64_t>;

  /// `bases` is the number of bases. `single` is the number of accesses whose requests are counted one by one
  /// (request_counter.h).
  RequestHistograms(const sim::DecodedKernel &decoded, std::uint32_t bases, std::uint32_t single);

  /// Counts one execution in which base number `number` has the value `base`, in elements.
  void phase(std::uint32_t number, const sim::Warp &w, std::int64_t base) {
    auto at = static_cast<std::uint32_t>(base) % phases;
    if (w.active == w.live)
      ++base_phases[(number * warps + w.index) * phases + at];
    else
      ++partial_phases[{number, w.index, w.active, at}];
  }
  void request(std::uint32_t number, const sim::Warp &w, std::uint32_t mask, std::int64_t base);
  void add(const RequestHistograms &other, std::uint64_t times = 1);
  void clear();

  std::uint32_t warps;
  /// Executions by all live lanes, at index (number * warps + warp) * phases + phase.
  std::vector<std::uint64_t> base_phases;
  Times partial_phases; ///< executions by only some of the live lanes
  Times requests;       ///< accesses whose requests are counted one by one
  /// For accesses whose addresses have no pattern: the summed costs, by the number of the access.
  std::vector<RequestSums> sums;

private:
  /// A cache: for each access and warp, the entry of `requests` that was incremented last. The next request
  /// usually increments the same entry.
  std::vector<Times::value_type *> last_;
};

} // namespace nestsmith::model
