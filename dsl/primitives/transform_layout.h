#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// transform_layout(W, "i, k -> k, i"): changes the order in which the temporary that W writes is stored.
///
///     shared A_shared[64, 8]     =>     shared A_shared[64, 8], stored i, k -> k, i: 8 rows of 64
///
/// The program still indexes by (i, k). The indices of the map count from the start of the allocated part of
/// the temporary, such as the tile after compute_at. A second map is applied to the result of the first.
///
/// Requires [transform_layout.temporary]: W writes a temporary; the caller determines the layout of a
///   parameter.
/// Requires [transform_layout.scope]: the temporary is in shared or local memory.
/// Requires [transform_layout.rank]: the rank of the map equals the number of stored dimensions.
/// Requires [transform_layout.first]: the temporary is neither padded nor swizzled yet.
/// Requires [transform_layout.invertible]: the map is injective on the allocated part.
/// Ensures: the sequential meaning is unchanged. It is an obligation that the map stays invertible, and that
///   the array fits with the gaps of the map.
void transform_layout(Schedule &schedule, BlockRef writer, const IndexMap &map);

} // namespace nestsmith::primitives
