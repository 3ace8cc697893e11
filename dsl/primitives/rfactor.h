#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// rfactor(k): factors a reduction loop out of a sum. Each iteration of k computes a partial sum, and a second
/// nest adds the partial sums.
///
///     for i: for k < n: for l:              for i: for k < n: for l: C_rf[k, i] += A[i, k, l];
///       C[i] += A[i, k, l]           =>     for i: for k < n: C[i] += C_rf[k, i]
///
/// The partial sums are in a new global temporary whose first axis is k. The existing loops now enclose C_rf,
/// for which k is a spatial loop that can be bound. The final sum has a plain nest after it. With global memory
/// between the two nests they become two kernels (split-K). An empty partial sum is 0.
///
/// Requires [rfactor.sum]: exactly one block below k sums over it, and its init is not decomposed.
/// Requires [rfactor.serial]: k is a serial loop.
/// Requires [rfactor.part]: k is a whole digit of the reduction axis and part of no other axis. A fused loop is
///   not.
/// Requires [rfactor.alone]: no other block of the nest uses the buffer of the sum.
/// Ensures: the same sums, reassociated.
BlockRef rfactor(Schedule &schedule, Loop loop);

} // namespace nestsmith::primitives
