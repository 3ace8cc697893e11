#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// transform_layout(W, "i, k -> k, i"): the temporary that W writes lies in another order in memory.
///
///     shared A_shared[64, 8]     =>     shared A_shared[64, 8], stored i, k -> k, i: 8 rows of 64
///
/// The program goes on indexing by (i, k). The map takes indices from the start of the part of the temporary
/// that is in memory at a time, such as the tile that compute_at leaves. A second map applies to what the
/// first gives.
///
/// Requires [transform_layout.temporary]: W writes a temporary: a parameter's layout is the caller's.
/// Requires [transform_layout.scope]: the temporary is in shared or local memory.
/// Requires [transform_layout.rank]: the map takes as many indices as the temporary is stored by.
/// Requires [transform_layout.first]: it is neither padded nor swizzled yet.
/// Requires [transform_layout.invertible]: no two elements that are in memory together lie at one place.
/// Ensures: the sequential meaning is unchanged. That the map stays invertible, and the padding that a map
///   with gaps brings fits, are obligations.
void transform_layout(Schedule &schedule, BlockRef writer, const IndexMap &map);

} // namespace nestsmith::primitives
