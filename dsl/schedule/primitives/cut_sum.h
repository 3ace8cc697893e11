#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// cut_sum(k, p): takes the terms of a sum from iteration p of k on out of it. They become a sum of its own,
/// and what reads the sum adds the two.
///
///     for i: for k < n:                     for i: for k < n - p: C_rest[i] += A[i, k + p];
///       C[i] += A[i, k];              =>    for i: for k < p: C[i] += A[i, k];
///     for i: D[i] = f(C[i])                 for i: D[i] = f(C[i] + C_rest[i])
///
/// The two sums have schedules of their own, and may have different numbers of terms, unlike the parts that
/// `rfactor` makes. C_rest is a new global temporary. Its nest is the first one that may follow the writers of
/// what it reads, so that other nests may execute while it does (`launch_early`). The init stays with the first
/// terms.
///
/// Requires [cut_sum.sum]: exactly one block below k sums over k, and its reduction is not decomposed. It
///   writes a temporary, and no other block does.
/// Requires [cut_sum.nest]: the sum is the only block of its nest, and all loops around it are serial.
/// Requires [cut_sum.axis]: k, by itself, is a reduction axis of the sum.
/// Requires [cut_sum.point]: each of the two sums has a term, for all values of the sizes.
/// Requires [cut_sum.order]: if the reducer is not commutative, k is outside of the other loops of the
///   reduction, so that the sums are those of contiguous ranges.
/// Ensures: the results are the same sums, added in another order.
extern const Primitive cut_sum;

} // namespace nestsmith::primitives
