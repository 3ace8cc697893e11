#pragma once
/// From what was executed to what it cost.

#include "runtime/sim/counters.h"
#include "runtime/sim/tally.h"

namespace nestsmith::sim {

/// The costs of all that was tallied; `blocks` and `counted` are left to the caller.
Counters evaluate(const Program &program, const Tally &tally);

/// The position of an access among the counters' accesses. Copies made by unrolling share one.
std::vector<std::size_t> positions(const Program &program); ///< by the access's place in `program.tallied`

/// What one request of the lanes of `mask` adds to the sums.
RequestSums one_request(const Access &access, std::uint32_t mask, const RequestCost &cost);

/// The lanes' addresses, in bytes from the start of the parameter or of shared memory, where their uniform part
/// is `base`, in elements. Not of an access whose addresses are of no pattern.
WarpRequest request_at(const Access &access, std::uint32_t warp, std::uint32_t mask, std::int64_t base);
/// The same as the warp makes it now.
WarpRequest request_now(const Access &access, const Warp &w, std::uint32_t mask);

} // namespace nestsmith::sim
