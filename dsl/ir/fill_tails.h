#pragma once
/// Removal of guards: caches are filled up to the end of their tiles.

#include "dsl/ir/program.h"

namespace nestsmith {

/// Changes each block that copies to a cache: the block then writes the whole tile, with a *fill* for elements
/// past the end of the source. So blocks that read the cache need no guard. The bounds of an index are those of
/// the tiles that are executed (executed_tiles.h). In detail:
///   - The fill is the value with which the terms of the reductions that read the cache are the identity of the
///     reducer: 0 for a sum of products, 1 for a product, -infinity or the least integer for a maximum. It is 0
///     if the readers need several.
///   - The guard of a copy becomes the mask of its load, and the cache is padded to whole tiles. A copy of the
///     whole padded cache also contains the fill. What computes its elements from global memory gets a branch:
///     the value, or the fill. If the load has a mask already, the guard becomes a part of it, and the tile
///     ends with its fill. If readers need another fill, a synchronous copy also gets a branch.
///   - The guard of a reduction axis is removed if each factor of the term is such a fill past the end of the
///     axis. One zero factor of a sum is not sufficient, because 0*NaN is not 0.
///   - The guard on an axis of a temporary is removed if everything that the writers of the temporary read is
///     padded, or does not depend on the axis and has been written where the guard is false. A window such as
///     i + r is padded if it ends within the padding. A load whose mask uses the axis depends on it, unless it
///     is in bounds without the mask. No block reads the additional elements of the temporary, because the
///     readers keep their guards.
///
/// A fetch whose elements are no multiple of the threads has a guard on its fused loops, under which threads
/// idle. It prevents no padding, except of the dimension of the largest digit, if its loops write each
/// combination of the values of the axes exactly once. The pass executes these loops to decide this.
///
/// A dimension is padded only if the array in memory has whole tiles there anyway (Placement::cut).
///
/// Lowering applies this rewrite. The obligations also apply it, to check a program as it will be lowered.
Program with_filled_tails(const Program &program);

} // namespace nestsmith
