#pragma once
/// The costs of the counted requests.

#include "runtime/model/request_histograms.h"

namespace nestsmith::model {

/// The way in which the requests of an access are counted.
enum class CountedBy : std::uint8_t {
  region,  ///< by executions of the region: the phase is constant, and all lanes of the region take part
  phase,   ///< accesses in a region with the same uniform base share one histogram of phases
  request, ///< each request is counted, because it has its own mask or its addresses have no pattern
};

struct CountedAccess {
  const sim::Access *access = nullptr;
  std::uint32_t region = 0;
  CountedBy by = CountedBy::region;
  std::uint32_t number = 0; ///< number of the base (`CountedBy::phase`) or of the access (`CountedBy::request`)
  /// In elements: phase of the address (`region`), or its distance from the base (`phase`).
  std::int64_t phase = 0;
  std::int64_t bytes = 0; ///< access size of one lane: all elements of a vector
};

/// The accesses of a program, and the numbers of bases and of accesses that are counted one by one.
struct CountedAccesses {
  std::vector<CountedAccess> all; ///< in program order
  /// After loads are merged as a compiler merges them. Empty if nothing was merged.
  std::vector<CountedAccess> merged;
  std::uint32_t bases = 0, single = 0;
};

/// The costs of all accesses. The caller must set `blocks` and `counted` of the result.
Counters evaluate(const sim::DecodedKernel &decoded, const CountedAccesses &accesses,
                  const sim::Executions &executions, const RequestHistograms &histograms);

/// For each access, its position in `Counters::accesses`. Copies of an access made by unrolling have the same
/// position.
std::vector<std::size_t> positions(const sim::DecodedKernel &decoded,
                                   const std::vector<const sim::Access *> &accesses);

/// The `RequestSums` of one request. The lanes in `mask` perform it, and each lane accesses `bytes` bytes.
RequestSums one_request(std::int64_t bytes, std::uint32_t mask, const RequestCost &cost);

/// The byte addresses of the lanes, relative to the parameter or to the start of shared memory. `base` is the
/// value of the uniform part of the address, in elements. The access must have a pattern.
WarpRequest request_at(const sim::Access &access, std::uint32_t warp, std::uint32_t mask, std::int64_t base);
/// The byte addresses of the lanes for the current state of the warp.
WarpRequest request_now(const sim::Access &access, const sim::Warp &w, std::uint32_t mask);

} // namespace nestsmith::model
