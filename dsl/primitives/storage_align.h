#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// storage_align(W, dim, factor, offset): rows of the temporary that W writes are padded, so that the stride
/// of dimension `dim`, in elements, is `offset` modulo `factor`.
///
///     storage_align(A_shared, 0, 32, 1):
///     shared A_shared[32, 32]     =>     shared A_shared[32, 32] in rows of 33
///
/// Dimensions are those that are stored: after a transform_layout, those of its map. Reads down a column, at
/// a stride that is odd, then fall into different banks.
///
/// Requires [storage_align.temporary]: W writes a temporary.
/// Requires [storage_align.shared]: it is in shared memory.
/// Requires [storage_align.dim]: `dim` is a dimension, and not the innermost, whose stride is 1.
/// Requires [storage_align.numbers]: 1 <= factor <= 65536 and 0 <= offset < factor.
/// Requires [storage_align.first]: the temporary is not swizzled yet.
/// Ensures: the sequential meaning is unchanged. That the padding fits is an obligation.
void storage_align(Schedule &schedule, BlockRef writer, std::int64_t dim, std::int64_t factor,
                   std::int64_t offset);

} // namespace nestsmith::primitives
