#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// partition(k): separates the iterations whose tiles are full, which run without guards, from the partial tile
/// at the edge.
///
///     for k < n partitioned:                          for k < n - 1:
///       for l < 8: if (k*8 + l < K) S         =>        for l < 8: S
///                                                     for l < 8: if ((n - 1)*8 + l < K) S
///
/// For a loop that is bound to a block axis the kernel contains `if (the block's tile is full) … else …`, for
/// the whole block.
///
/// Requires [partition.kind]: k is serial or bound to a block axis, and not yet partitioned. The threads of a
///   block run together, and the body of an unrolled loop is replicated already.
/// Requires [partition.guarded]: a block below has a guard that depends on k.
/// Ensures: every iteration executes once, in the same order.
void partition(Schedule &schedule, Loop loop);

} // namespace nestsmith::primitives
