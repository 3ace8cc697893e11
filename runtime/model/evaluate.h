#pragma once
/// The costs of the counted requests.

#include "runtime/model/counting.h"

namespace nestsmith::model {

/// The costs of all accesses of `counting`. The caller sets `blocks` and `counted`.
Counters evaluate(const sim::Program &program, const Counting &counting, const sim::Executions &executions,
                  const Tally &tally);

/// The position of each access in `Counters::accesses`. Copies made by unrolling share one.
std::vector<std::size_t> positions(const sim::Program &program,
                                   const std::vector<const sim::Access *> &accesses);

/// The sums for one request by the lanes in `mask`, each of which accesses `bytes`.
RequestSums one_request(std::int64_t bytes, std::uint32_t mask, const RequestCost &cost);

/// The byte addresses of the lanes, in the parameter or in shared memory, for the uniform part `base` in
/// elements. The access must have a pattern.
WarpRequest request_at(const sim::Access &access, std::uint32_t warp, std::uint32_t mask, std::int64_t base);
/// The byte addresses of the lanes for the current state of the warp.
WarpRequest request_now(const sim::Access &access, const sim::Warp &w, std::uint32_t mask);

} // namespace nestsmith::model
