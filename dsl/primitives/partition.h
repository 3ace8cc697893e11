#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// partition(k): the iterations whose tiles are full run without guards, the edge has code of its own.
///
///     for k < n partitioned:                          for k < n - 1:
///       for l < 8: if (k*8 + l < K) S         =>        for l < 8: S
///                                                     for l < 8: if ((n - 1)*8 + l < K) S
///
/// For a loop that is bound to a block axis: `if (the block's tile is full) … else …`, for the whole block.
///
/// Requires [partition.kind]: k is serial or bound to a block axis, and not yet partitioned: threads of one
///   block run together, and an unrolled loop is written out as it is.
/// Requires [partition.guarded]: a block below is guarded by k.
/// Ensures: every iteration runs once, in the same order.
void partition(Schedule &schedule, Loop loop);

} // namespace nestsmith::primitives
