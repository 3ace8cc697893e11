#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// split_by(k, size): splits a loop into parts of a number of iterations that is known only at launch: a size.
///
///     for k < n: S     =>     for k_outer < ceil(n/size): for k_inner < size: S with k = k_outer*size +
///     k_inner
///
/// One kernel then serves any number of parts: bind k_outer to a block axis, and the launch chooses how many
/// thread blocks share the loop. The computation declares the size, as in `w.size("part", {.multiple_of =
/// 16})`; no array needs to have it. Split k_inner by constants for tiles: {infer, 16} leaves no partial tile
/// if the size is a multiple of 16.
///
/// Iterations past the end of k get a guard `binding < extent`, as in `split`.
///
/// Requires [split_by.serial]: k is a serial loop.
/// Requires [split_by.size]: the computation declares a size of this name.
/// Requires [split_by.tail]: in each block below, k is the outermost part of an axis, so that iterations past
/// the
///   end of k are also past the end of this axis, where the guard excludes them.
/// Ensures: every iteration executes once, in the same order.
extern const Primitive split_by;

} // namespace nestsmith::primitives
