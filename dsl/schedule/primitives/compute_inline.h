#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// compute_inline(T): replaces each read of a temporary by the expression that computes the element, and
/// removes the block. T is the name of both the block and the temporary that it writes.
///
///     T: T[i, j] = f(i, j);     R: … T[a, b] …     =>     R: … f(a, b) …
///
/// If the read is masked, the result is `select(mask, f, fill)`, and the loads of f execute only where the mask
/// is true.
///
/// Requires [compute_inline.temporary]: the block writes a temporary, not a parameter.
/// Requires [compute_inline.elementwise]: the block is the only writer of T and not a reduction, so that each
///   element is one expression.
/// Requires [compute_inline.index]: the indices of the store to T are the axes of the block, each used once and
///   over the full extent of its dimension.
/// Requires [compute_inline.read]: at least one block reads the temporary.
/// Requires [compute_inline.inputs]: no later block overwrites an input of T. This is possible only if the
///   input is an inout parameter.
/// Requires [compute_inline.limits]: the depth and the number of operations of the resulting value are within
/// the limits
///   of dsl/expr/expr_limits.h.
/// Requires [compute_inline.intrinsic]: each tensorized loop still computes the meaning of its intrinsic.
/// Ensures: every reader reads the same values.
extern const Primitive compute_inline;

} // namespace nestsmith::primitives
