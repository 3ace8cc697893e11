#pragma once
/// The costs of the requests that were counted.

#include "runtime/sim/counting.h"

namespace nestsmith::sim {

/// The costs of all accesses of `counting`. The caller sets `blocks` and `counted`.
Counters evaluate(const Program &program, const Counting &counting, const Executions &executions,
                  const Tally &tally);

/// The position of each of these accesses in `Counters::accesses`. Copies made by unrolling share one.
std::vector<std::size_t> positions(const Program &program, const std::vector<const Access *> &accesses);

/// The sums of one request by the lanes of `mask`, each of which accesses `bytes`.
RequestSums one_request(std::int64_t bytes, std::uint32_t mask, const RequestCost &cost);

/// The lanes' addresses, in bytes from the start of the parameter or of shared memory, where their uniform part
/// is `base`, in elements. Not of an access whose addresses are of no pattern.
WarpRequest request_at(const Access &access, std::uint32_t warp, std::uint32_t mask, std::int64_t base);
/// The same as the warp makes it now.
WarpRequest request_now(const Access &access, const Warp &w, std::uint32_t mask);

} // namespace nestsmith::sim
