#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// reorder({k, i}): the loops take the places that they hold now in the given order, outermost first.
///
///     for i: for j: for k: S     =>     for k: for j: for i: S
///
/// Requires [reorder.distinct]: at least two loops, each named once.
/// Requires [reorder.chain]: they lie in one nest in which no other statement stands between them:
///   what stands between (an init, a tile's copy) depends on the order.
/// Requires [reorder.init]: loops that a sum mixes in one digit of its axis (it was fused with another axis and
///   split again) keep their order while its init is part of it.
/// Requires [reorder.repeated]: a loop that only repeats a sum, as one does that it was brought under by
/// compute_at
///   and does not use, keeps its order with the loops of the sum while its init is part of it.
/// Ensures: every iteration runs once; a reduction may be summed in another order.
void reorder(Schedule &schedule, std::vector<Loop> order);

} // namespace nestsmith::primitives
