#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// rfactor(k): the iterations of a loop that is summed over make partial sums of their own, which another nest
/// then adds up.
///
///     for i: for k < n: for l:              for i: for k < n: for l: C_rf[k, i] += A[i, k, l];
///       C[i] += A[i, k, l]           =>     for i: for k < n: C[i] += C_rf[k, i]
///
/// The partial sums stand in a new global temporary, the loop's axis first. The loops of C now enclose C_rf,
/// and k is a spatial loop of it, which can be bound; the sum of the partial sums has a plain nest of its own
/// after it: with global memory between them, two kernels (split-K). An empty part is 0.
///
/// Requires [rfactor.sum]: one block below k sums over it, and its init is part of it (it is not decomposed).
/// Requires [rfactor.serial]: k is a serial loop.
/// Requires [rfactor.part]: k is a whole digit of the axis that is summed over, and part of no other axis, as
/// it
///   would be after a fuse.
/// Requires [rfactor.alone]: no other block of the nest uses the buffer that is summed into.
/// Ensures: the same sums, reassociated.
BlockRef rfactor(Schedule &schedule, Loop loop);

} // namespace nestsmith::primitives
