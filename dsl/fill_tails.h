#pragma once
/// Removal of guards by filling caches up to the end of their tiles.

#include "dsl/program.h"

namespace nestsmith {

/// Makes each copy into a cache write its whole tile, with zeros past the end of the source, so that readers of
/// the cache need no guard:
///   - The guard of a copy becomes a mask on its load, and the cache is padded to the tile. A full copy of such
///     a cache has the same zeros.
///   - The guard of a sum on a reduction axis is removed where every factor is zero past the end. One factor is
///     not enough, because 0*NaN is not 0.
///   - The guard on an axis of a temporary is removed where everything that its writers read is padded. The
///     extra elements are never read, since readers keep their guards.
///
/// Lowering applies this rewrite. Obligations inspect its result in advance.
Program with_filled_tails(const Program &program);

} // namespace nestsmith
