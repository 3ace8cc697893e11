#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// cache_read(R, "A", shared): R reads A through a copy in faster memory.
///
///     R: … A[i, k] …     =>     A_shared[v0, v1] = A[v0, v1];     R: … A_shared[i, k] …
///
/// The copy stands whole before the nest of R until compute_at brings it, shrunk to a tile, under a loop.
///
/// Requires [cache_read.reads]: R reads the buffer.
/// Requires [cache_read.scope]: the scope is shared or local.
/// Requires [cache_read.unwritten]: R does not write the buffer itself.
/// Requires [cache_read.unmasked]: R reads it without a mask, so that the copy may read all of it.
/// Requires [cache_read.before]: the buffer is complete before the nest of R begins.
/// Ensures: R reads the same values.
BlockRef cache_read(Schedule &schedule, BlockRef reader, const std::string &buffer, Scope scope);

} // namespace nestsmith::primitives
