#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// split_by(k, "D"): splits a loop into parts of D iterations, where D is a size: a number that is known only
/// at launch.
///
///     for k < n: S     =>     for k_outer < ceil(n/D): for k_inner < D: S with k = k_outer*D + k_inner
///
/// One kernel then serves any number of parts: bind k_outer to a block axis, for a sum after `rfactor`, and
/// the launch chooses how many thread blocks share the loop. The computation declares the size, as in
/// `w.size("part", {.multiple_of = 16})`. No array has it: a size of an array may be 0, and D is a divisor.
/// Split k_inner by constants for tiles: {infer, 16} leaves no partial tile if the size is a multiple of 16.
///
/// Iterations past the end of k get a guard `binding < extent`, as in `split`.
///
/// Requires [split_by.serial]: k is a serial loop.
/// Requires [split_by.size]: the computation declares a size of this name, and no array has it in its shape or
/// its strides.
/// Requires [split_by.tail]: in each block below, k is the outermost part of an axis, so that iterations past
/// its end are also past the end of this axis, where the guard excludes them.
/// Ensures: every iteration executes once, in the same order.
extern const Primitive split_by;

} // namespace nestsmith::primitives
