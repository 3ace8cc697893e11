#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith {

/// Whether every instance with loop >= its extent is past the end of one of the block's axes. This holds if a
/// binding that grows with the loop has reached the end by then.
bool tail_is_clipped(const Block &block, const For &loop, const Bounds &bounds);

namespace primitives {

/// split(i, {f0, …, fn}): splits a loop into a nest of n+1 loops. One factor may be `infer`.
///
///     for i < n: S     =>     for i_outer < ceil(n/f): for i_inner < f: S with i = i_outer*f + i_inner
///
/// If the product of the factors exceeds the extent, the blocks below get a guard `binding < extent`. If i is
/// not the outermost part of an axis of a block, the block gets a new axis for this guard, with the name of the
/// loop. Two new loops are named i_outer and i_inner. Three or more new loops are named i_0, i_1, ….
///
/// Requires [split.serial]: i is a serial loop.
/// Requires [split.factors]: there are 1 to 16 factors, each 1 or more; one of them may be `infer`.
/// Requires [split.outermost]: if the extent depends on sizes, the first factor is `infer`, so that extents
///   inside a tile are constant. `{4, infer}` would multiply a loop in a binding by a size; split by
///   `{infer, 4}` and exchange the loops with `reorder` instead.
/// Requires [split.covers]: the product of the given factors is not less than the extent.
/// Requires [split.tail]: if the factors do not divide the extent, each sum below has i as the outermost part
/// of an
///   axis, or as a part of an axis that indexes its elements, or i has one iteration. In the first case,
///   iterations past the end of i are also past the end of this axis, where the guard excludes them.
/// Ensures: every iteration executes once, in the same order.
extern const Primitive split;

} // namespace primitives

} // namespace nestsmith
