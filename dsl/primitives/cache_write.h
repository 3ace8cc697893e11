#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// cache_write(W, local): W computes into faster memory, and a copy brings the result to its buffer.
///
///     W: C[i, j] = …     =>     W: C_local[i, j] = …;     C_writeback: C[v0, v1] = C_local[v0, v1]
///
/// The copy stands whole after the nest of W until reverse_compute_at brings it under a loop.
///
/// Requires [cache_write.scope]: the scope is shared or local.
/// Requires [cache_write.pure]: the buffer's old content is not read.
/// Requires [cache_write.writers]: nothing outside of the nest of W writes the buffer.
/// Requires [cache_write.readers]: nothing else in the nest of W reads the buffer.
/// Ensures: the buffer ends with the same values.
BlockRef cache_write(Schedule &schedule, BlockRef writer, Scope scope);

} // namespace nestsmith::primitives
