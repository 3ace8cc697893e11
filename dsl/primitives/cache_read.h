#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// cache_read(R, "A", shared): R reads A through a copy in faster memory.
///
///     R: … A[i, k] …     =>     A_shared[v0, v1] = A[v0, v1];     R: … A_shared[i, k] …
///
/// The copy of the whole buffer precedes the nest of R until compute_at moves it under a loop and shrinks it to
/// a tile.
///
/// Requires [cache_read.reads]: R reads the buffer.
/// Requires [cache_read.scope]: the scope is shared or local.
/// Requires [cache_read.unwritten]: R does not write the buffer itself.
/// Requires [cache_read.unmasked]: R reads the buffer without a mask; the copy reads all of it.
/// Requires [cache_read.before]: no block in the nest of R writes the buffer; it is complete before the nest.
/// Ensures: R reads the same values.
BlockRef cache_read(Schedule &schedule, BlockRef reader, const std::string &buffer, Scope scope);

} // namespace nestsmith::primitives
