#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// reverse_compute_inline(R): moves the computation of R into the block P that produces its input T. Removes
/// the block R and the temporary T.
///
///     P: T[i, j] = f(i, j);     R: C[i, j] = g(T[i, j])     =>     P: C[i, j] = g(f(i, j))
///
/// Requires [reverse_compute_inline.elementwise]: R is not a reduction.
/// If R reads T at other indices than its own axes, the block keeps the axes of R: their bindings then follow
/// from the element of T that an iteration computes. If R reads only a slice of T, a guard excludes the other
/// elements.
///
/// Requires [reverse_compute_inline.part]: R is no part of a block that `cut` took apart, unless
///   `axes_from_loops` gave it axes of its own.
/// Requires [reverse_compute_inline.reads]: R reads exactly one temporary T that no other block reads. The
///   indices of T in R determine the axes of R: each axis of more than one value is an index of T or one digit
///   of an index (reshape), or its digits are indices of T. R reads no element outside of T.
/// Requires [reverse_compute_inline.complete]: T has one writer P, and P is not a reduction, because R would
///   read partial sums.
/// Requires [reverse_compute_inline.once]: the indices of the store to T are the axes of P, and P computes each
///   element exactly once.
/// Requires [reverse_compute_inline.inputs]: the other inputs of R are complete before P. No block from P to R
///   uses the buffer that R writes, except that R itself may read the element that it writes.
/// Requires [reverse_compute_inline.limits]: the depth and the number of operations of the resulting value are
/// within the limits
///   of dsl/expr/expr_limits.h.
/// Ensures: the buffer that R wrote contains the same values.
extern const Primitive reverse_compute_inline;

} // namespace nestsmith::primitives
