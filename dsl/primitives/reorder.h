#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// reorder({k, i}): permutes loops of a nest. The listed loops, outermost first, take the positions that these
/// loops hold now.
///
///     for i: for j: for k: S     =>     for k: for j: for i: S
///
/// Requires [reorder.distinct]: the list names two or more distinct loops.
/// Requires [reorder.chain]: the loops are in one nest, and no other statement is between them. The meaning of
///   such a statement (an init, a copy of a tile) depends on the order of the loops.
/// Requires [reorder.init]: while the init is part of a reduction, loops that share a digit of its axis (after
///   a fuse with another axis and a split) keep their order.
/// Requires [reorder.repeated]: while the init is part of a reduction, a loop that only repeats the block keeps
///   its order relative to the reduction loops. A loop does so if compute_at moved the block under it and the
///   block does not use it.
/// Ensures: every iteration executes once; the order of a summation may change.
void reorder(Schedule &schedule, std::vector<Loop> order);

} // namespace nestsmith::primitives
