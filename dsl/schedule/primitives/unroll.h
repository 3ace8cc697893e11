#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// unroll(i): the CUDA compiler replicates the body for each iteration. The indices of local arrays are then
/// constants, so that these arrays can stay in registers.
///
///     for i < n: S     =>     for i < n unrolled: S
///
/// Requires [unroll.serial]: i is a serial loop.
/// Requires [unroll.constant]: the extent is constant, and does not depend on sizes.
/// Requires [unroll.extent]: the extent is at most 1024, because a longer body does not fit in the instruction
///   cache.
/// Ensures: every iteration executes once, in the same order.
extern const Primitive unroll;

} // namespace nestsmith::primitives
