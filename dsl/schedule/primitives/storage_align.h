#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// storage_align(W, dim, factor, offset): pads the rows of the temporary that W writes, so that (stride of
/// dimension `dim`, in elements) % `factor` = `offset`.
///
///     storage_align(A_shared, 0, 32, 1):
///     shared A_shared[32, 32]     =>     shared A_shared[32, 32] in rows of 33
///
/// `dim` is the number of a stored dimension. After a transform_layout, the stored dimensions are the results
/// of the map. With an odd stride, the elements of a column are in different banks of shared memory.
///
/// Requires [storage_align.temporary]: W writes a temporary.
/// Requires [storage_align.shared]: the temporary is in shared memory.
/// Requires [storage_align.dim]: `dim` is not the innermost dimension, whose stride is always 1.
/// Requires [storage_align.numbers]: 1 <= factor <= 65536 and 0 <= offset < factor.
/// Requires [storage_align.first]: the temporary is not swizzled yet.
/// Ensures: the sequential meaning is unchanged. Obligation: the padded array fits in shared memory.
extern const Primitive storage_align;

} // namespace nestsmith::primitives
