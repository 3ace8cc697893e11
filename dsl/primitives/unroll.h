#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// unroll(i): the compiler writes the body once for each iteration, so that a local array is indexed by
/// constants and stays in registers.
///
///     for i < n: S     =>     for i < n unrolled: S
///
/// Requires [unroll.serial]: i is a serial loop.
/// Requires [unroll.constant]: its extent is constant, not one that is known only at launch.
/// Requires [unroll.extent]: at most 1024 iterations: a longer body does not fit the instruction cache.
/// Ensures: every iteration runs once, in the same order.
void unroll(Schedule &schedule, Loop loop);

} // namespace nestsmith::primitives
