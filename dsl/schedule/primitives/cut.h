#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// cut(k, {p0, …, pn}): cuts a loop into n+2 consecutive loops. A point is the number of iterations before it.
/// A negative point counts from the end of the loop, as in {1, -1}, which cuts off the first and the last
/// iteration.
///
///     for k < n: S     =>     for k_part0 < p: S with k = k_part0
///                             for k_part1 < n - p: S with k = k_part1 + p
///
/// Each part has blocks and loops of its own, and later directives may differ: `pipeline` or `vectorize` the
/// main part only. The first part keeps the blocks and the loops below k; those of part 1 are named B_part1 and
/// i_part1. `blocks_below(loop)` returns the blocks of a part. A temporary that is used only below k, such as a
/// tile in shared memory, becomes one temporary for each part. A part without a loop around it is a nest of its
/// own, and so a kernel.
///
/// Each point is inside of the loop for all sizes: nestsmith does not clamp a point, because a part without
/// iterations would be a loop of extent 0. If the extent depends on sizes, state a minimum of the size.
///
/// The init of a sum over k stays in the first part.
///
/// Requires [cut.serial]: k is a serial loop.
/// Requires [cut.points]: there are 1 to 15 points in ascending order, and each part has an iteration, for all
///   values of the sizes.
/// Requires [cut.init]: for each sum with an init below k that sums over k, no spatial axis uses k, and each
///   part but the first is past the first value of the sum. If `fuse` made k of a loop of the sum and another
///   one, use `decompose_reduction` first.
/// Requires [cut.pipeline]: no loop around k is pipelined, because its stages name the blocks below it.
/// Ensures: every iteration executes once, in the same order.
extern const Primitive cut;

} // namespace nestsmith::primitives
