#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// reverse_compute_inline(R): moves the computation of R into the producer of its input, and removes R and the
/// temporary between them.
///
///     P: T[i, j] = f(i, j);     R: C[i, j] = g(T[i, j])     =>     P: C[i, j] = g(f(i, j))
///
/// Requires [reverse_compute_inline.elementwise]: R is not a reduction.
/// Requires [reverse_compute_inline.reads]: R reads exactly one temporary that no other block reads. It indexes
///   that temporary by its own axes, each once and over its full extent.
/// Requires [reverse_compute_inline.complete]: the temporary's only writer P is not a reduction, whose partial
///   results R would use.
/// Requires [reverse_compute_inline.once]: P indexes the temporary by its own axes and computes each element
///   exactly once.
/// Requires [reverse_compute_inline.inputs]: the other inputs of R are complete before P, and no block from P
///   to R uses the buffer that R writes, except that R may read the element that it writes.
/// Requires [reverse_compute_inline.limits]: the depth and the number of operations of the resulting value are within the limits of
///   dsl/expr_limits.h.
/// Ensures: R's buffer receives the same values.
void reverse_compute_inline(Schedule &schedule, BlockRef consumer);

} // namespace nestsmith::primitives
