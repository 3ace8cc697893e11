#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// unroll(i): the compiler replicates the body for each iteration. A local array is then indexed by constants
/// and can stay in registers.
///
///     for i < n: S     =>     for i < n unrolled: S
///
/// Requires [unroll.serial]: i is a serial loop.
/// Requires [unroll.constant]: the extent is constant, not one that is known only at launch.
/// Requires [unroll.extent]: the extent is 1024 or less; a longer body does not fit the instruction cache.
/// Ensures: every iteration executes once, in the same order.
void unroll(Schedule &schedule, Loop loop);

} // namespace nestsmith::primitives
