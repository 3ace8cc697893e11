#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// rfactor(k): splits a sum into partial sums. Each iteration of k computes one partial sum, and a second nest
/// adds the partial sums.
///
///     for i: for k < n: for l:              for i: for k < n: for l: C_rf[k, i] += A[i, k, l];
///       C[i] += A[i, k, l]           =>     for i: for k < n: C[i] += C_rf[k, i]
///
/// The partial sums are in a new global temporary C_rf, whose first axis is k. The existing loops now compute
/// C_rf. For C_rf, k is a spatial loop, so a schedule can bind it. A new unannotated nest after the existing
/// nest computes the final sum. While C_rf is in global memory, the two nests become two kernels (split-K);
/// `last_block` makes them one kernel, and `reduce_across(k, blockIdx.y)` is both. An empty partial sum is 0.
///
/// Requires [rfactor.sum]: exactly one block below k sums over k, and its reduction is not decomposed.
/// Requires [rfactor.serial]: k is a serial loop.
/// Requires [rfactor.part]: k is part of reduction axes only, and these determine k. Each part of an axis that
///   uses k uses other loops of the sum only. Thus k may be fused from loops of two reduction axes, or a part
///   of such a loop, but not from a loop of another axis.
/// Requires [rfactor.alone]: no other block of the nest uses the buffer of the sum.
/// Requires [rfactor.whole]: the loops compute all elements of the buffer of the sum. After `compute_at`, they
///   may compute only the elements that the readers need.
/// Requires [rfactor.order]: if the reducer is not commutative, k is outside of the other loops of the
/// reduction,
///   so that the partial results are those of contiguous ranges.
/// Ensures: the results are the same sums, added in another order.
extern const Primitive rfactor;

} // namespace nestsmith::primitives
