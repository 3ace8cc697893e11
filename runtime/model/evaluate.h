#pragma once
/// The costs of the requests that were counted.

#include "runtime/model/counting.h"

namespace nestsmith::model {

/// The costs of all accesses of `counting`. The caller sets `blocks` and `counted`.
Counters evaluate(const sim::Program &program, const Counting &counting, const sim::Executions &executions,
                  const Tally &tally);

/// The position of each of these accesses in `Counters::accesses`. Copies made by unrolling share one.
std::vector<std::size_t> positions(const sim::Program &program,
                                   const std::vector<const sim::Access *> &accesses);

/// The sums of one request by the lanes of `mask`, each of which accesses `bytes`.
RequestSums one_request(std::int64_t bytes, std::uint32_t mask, const RequestCost &cost);

/// The lanes' addresses, in bytes from the start of the parameter or of shared memory, where their uniform part
/// is `base`, in elements. Not of an access whose addresses are of no pattern.
WarpRequest request_at(const sim::Access &access, std::uint32_t warp, std::uint32_t mask, std::int64_t base);
/// The same as the warp makes it now.
WarpRequest request_now(const sim::Access &access, const sim::Warp &w, std::uint32_t mask);

} // namespace nestsmith::model
