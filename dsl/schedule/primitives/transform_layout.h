#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// transform_layout(W, "i, k -> k, i"): changes the order in which the temporary that W writes is stored.
///
///     shared A_shared[64, 8]     =>     shared A_shared[64, 8], stored i, k -> k, i: 8 rows of 64
///
/// The program still uses the indices (i, k). The index 0 of the map is the start of the allocated part of the
/// temporary, for example of the tile after compute_at. A second transform_layout applies its map to the result
/// of the first map.
///
/// Requires [transform_layout.temporary]: W writes a temporary, because the caller determines the layout of a
///   parameter.
/// Requires [transform_layout.scope]: the temporary is in shared or local memory.
/// Requires [transform_layout.rank]: the rank of the map equals the number of stored dimensions. The first map
///   of a temporary in the scope `warp` may have one more index, the replica: the number of the
///   copy of an element that several lanes hold.
/// Requires [transform_layout.first]: the temporary is neither padded nor swizzled yet.
/// Requires [transform_layout.invertible]: the map is injective on the allocated part.
/// Ensures: the sequential meaning is unchanged. Obligations: the map is invertible on the part that is
///   allocated when the schedule is complete, and the array fits in memory, including the gaps that the map
///   leaves.
extern const Primitive transform_layout;

} // namespace nestsmith::primitives
