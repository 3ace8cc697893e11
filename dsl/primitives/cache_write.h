#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// cache_write(W, local): W computes into faster memory, and a new block copies the result to its buffer.
///
///     W: C[i, j] = …     =>     W: C_local[i, j] = …;     C_writeback: C[v0, v1] = C_local[v0, v1]
///
/// The copy of the whole buffer follows the nest of W until reverse_compute_at moves it under a loop.
///
/// Requires [cache_write.scope]: the scope is shared or local.
/// Requires [cache_write.pure]: the old content of the buffer is not read (it is not an inout parameter).
/// Requires [cache_write.writers]: no block outside of the nest of W writes the buffer.
/// Requires [cache_write.readers]: no other block in the nest of W reads the buffer.
/// Ensures: the buffer holds the same values afterwards.
BlockRef cache_write(Schedule &schedule, BlockRef writer, Scope scope);

} // namespace nestsmith::primitives
