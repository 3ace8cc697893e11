#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// reverse_compute_inline(R): what R makes of a temporary is made where the temporary is computed, and both R
/// and the temporary are gone.
///
///     P: T[i, j] = f(i, j);     R: C[i, j] = g(T[i, j])     =>     P: C[i, j] = g(f(i, j))
///
/// Requires [reverse_compute_inline.elementwise]: R is no sum.
/// Requires [reverse_compute_inline.reads]: R reads just one temporary that no other block reads, at its own
///   axes, each once and over its whole extent.
/// Requires [reverse_compute_inline.complete]: the temporary's only writer P is no sum, of which R would use
///   parts.
/// Requires [reverse_compute_inline.once]: P indexes the temporary by its own axes and computes each element
///   just once.
/// Requires [reverse_compute_inline.inputs]: what else R reads is complete before P, and nothing from P to R
///   uses what R writes, but R itself its own element.
/// Ensures: every element that R computes is the same.
void reverse_compute_inline(Schedule &schedule, BlockRef consumer);

} // namespace nestsmith::primitives
