#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// fuse(i, j): two nested loops become one.
///
///     for i < m: for j < n: S     =>     for i_j < m*n: S with i = i_j // n, j = i_j % n
///
/// Requires [fuse.serial]: both are serial loops.
/// Requires [fuse.nested]: j is the only statement in the body of i.
/// Requires [fuse.extent]: together they have at most 2^60 iterations.
/// Ensures: every iteration runs once, in the same order.
Loop fuse(Schedule &schedule, Loop outer, Loop inner);

} // namespace nestsmith::primitives
