#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// compute_inline(T): what reads the temporary computes its elements itself, and the block T is gone.
///
///     T: T[i, j] = f(i, j);     R: … T[a, b] …     =>     R: … f(a, b) …
///
/// A read under a mask keeps its mask and its fill: what f reads is masked with it.
///
/// Requires [compute_inline.temporary]: T writes a temporary, and is its only writer.
/// Requires [compute_inline.elementwise]: T is no sum: each element is one expression.
/// Requires [compute_inline.index]: T indexes its buffer by its own axes, each once and over its whole extent.
/// Requires [compute_inline.read]: something reads the temporary.
/// Requires [compute_inline.inputs]: what T reads is not overwritten after it, as an inout parameter may be.
/// Ensures: every reader reads the same values.
void compute_inline(Schedule &schedule, BlockRef block);

} // namespace nestsmith::primitives
