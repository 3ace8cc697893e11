#pragma once
/// Guards that go because caches are filled to the end of their tiles.

#include "dsl/program.h"

namespace nestsmith {

/// A copy into a cache writes its whole tile, zeros where the source ends, so that what reads the cache
/// needs no guard:
///   - a copy's guard becomes a mask on its load, and the cache is padded to the tile; what copies such a cache
///     whole has its zeros;
///   - a sum's guard on a reduction axis goes where every factor is zero past the end (0*NaN is not 0, so
///     one factor is not enough);
///   - a guard on an axis of a temporary goes where all that its writers read is padded: what is computed
///     there is never read, since readers keep their guards.
///
/// Lowering does it; the obligations look at what it will leave.
Program with_filled_tails(const Program &program);

} // namespace nestsmith
