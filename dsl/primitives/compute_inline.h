#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// compute_inline(T): replaces each read of the temporary by the expression of the element, and removes the
/// block T.
///
///     T: T[i, j] = f(i, j);     R: … T[a, b] …     =>     R: … f(a, b) …
///
/// If the read is masked, its mask and fill apply to the loads of f.
///
/// Requires [compute_inline.temporary]: T writes a temporary and is its only writer.
/// Requires [compute_inline.elementwise]: T is not a reduction; each element is one expression.
/// Requires [compute_inline.index]: T indexes its buffer by its own axes, each once and over its full extent.
/// Requires [compute_inline.read]: at least one block reads the temporary.
/// Requires [compute_inline.inputs]: no later block overwrites the inputs of T, as one may do to an inout
///   parameter.
/// Requires [compute_inline.limits]: the depth and the number of operations of the resulting value are within the limits of
///   dsl/expr_limits.h.
/// Ensures: every reader reads the same values.
void compute_inline(Schedule &schedule, BlockRef block);

} // namespace nestsmith::primitives
