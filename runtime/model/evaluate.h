#pragma once
/// The costs of the counted requests.

#include "runtime/model/counting.h"

namespace nestsmith::model {

/// The costs of all accesses of `counting`. The caller must set `blocks` and `counted` of the result.
Counters evaluate(const sim::Program &program, const Counting &counting, const sim::Executions &executions,
                  const Tally &tally);

/// For each access, its position in `Counters::accesses`. Copies of an access made by unrolling have the same
/// position.
std::vector<std::size_t> positions(const sim::Program &program,
                                   const std::vector<const sim::Access *> &accesses);

/// The `RequestSums` of one request. The lanes in `mask` perform it, and each lane accesses `bytes` bytes.
RequestSums one_request(std::int64_t bytes, std::uint32_t mask, const RequestCost &cost);

/// The byte addresses of the lanes, relative to the parameter or to the start of shared memory. `base` is the
/// value of the uniform part of the address, in elements. The access must have a pattern.
WarpRequest request_at(const sim::Access &access, std::uint32_t warp, std::uint32_t mask, std::int64_t base);
/// The byte addresses of the lanes for the current state of the warp.
WarpRequest request_now(const sim::Access &access, const sim::Warp &w, std::uint32_t mask);

} // namespace nestsmith::model
