#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// axes_from_loops(B): makes the loops around B its axes. After `fuse`, a block of many axes is one of few.
///
///     for b_i < 32*50: for j < 64:
///       block C(b = b_i//50, i = b_i % 50, j = j)        =>     block C(b_i = b_i, j = j)
///         C[b, i, j] = … A[b, i] …                                C[b_i, j] = … A[b_i//50, b_i % 50] …
///
/// A temporary that B writes gets one dimension for each spatial loop, and its readers use the new indices. A
/// parameter keeps its dimensions, because the caller determines them. After `cut` and `fission`, the axes of a
/// part begin at 0, and its temporary has the elements of the part only.
///
/// Directives that make loops from the axes of a block, such as `compute_at`, and intrinsics, which have two
/// axes for the rows and columns of a matrix, then see the fused loops. `reindex_cache_read` gives the operands
/// the same indices. The two directives turn a contraction of any axes into a product of two matrices.
///
/// Requires [axes_from_loops.nest]: B is the only block of its nest, and all loops around it are serial.
/// Requires [axes_from_loops.whole]: no axis of B has a guard, and no reduction axis has a first value (after
///   `rfactor`): the loops give the axes each combination of values once.
/// Requires [axes_from_loops.kind]: each loop runs over spatial axes only, or over reduction axes only.
/// Requires [axes_from_loops.temporary]: if B writes a temporary, B is its only writer, it has no layout, and
///   each spatial axis of B is, by itself, an index of the store.
/// Ensures: B has the same instances in the same order, with the same values.
extern const Primitive axes_from_loops;

} // namespace nestsmith::primitives
