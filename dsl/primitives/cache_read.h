#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// cache_read(R, "A", shared): R reads A through a copy in faster memory.
///
///     R: … A[i, k] …     =>     A_shared[v0, v1] = A[v0, v1];     R: … A_shared[i, k] …
///
/// The new block copies the whole buffer, in a nest before the nest of R. A later compute_at can move the copy
/// into a loop of R and shrink it to a tile.
///
/// Requires [cache_read.reads]: R reads the buffer.
/// Requires [cache_read.scope]: the scope is shared, local or warp.
/// Requires [cache_read.unwritten]: R does not write the buffer itself.
/// Requires [cache_read.unmasked]: R reads the buffer without a mask, because the copy reads every element.
/// Requires [cache_read.before]: no block in the nest of R writes the buffer, so that the buffer is complete
///   before the nest.
/// Ensures: R reads the same values.
BlockRef cache_read(Schedule &schedule, BlockRef reader, const std::string &buffer, Scope scope);

} // namespace nestsmith::primitives
