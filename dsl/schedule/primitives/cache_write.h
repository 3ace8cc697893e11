#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// cache_write(W, local): W computes into faster memory, and a new block copies the result to its buffer.
///
///     W: C[i, j] = …     =>     W: C_local[i, j] = …;     C_writeback: C[v0, v1] = C_local[v0, v1]
///
/// The new block copies the whole buffer, in a nest after the nest of W. A later reverse_compute_at can move
/// the copy into a loop of W.
///
/// Requires [cache_write.scope]: the scope is shared or local.
/// Requires [cache_write.pure]: of an inout parameter, W reads only the old value of the element that it
///   writes, and is no reduction: it goes on to read the parameter, and the cache holds new values only. A
///   reduction with its init reads no old value.
/// Requires [cache_write.writers]: no block outside of the nest of W writes the buffer.
/// Requires [cache_write.readers]: no other block in the nest of W reads the buffer.
/// Requires [cache_write.whole]: the loops of W compute all elements of the buffer. After `compute_at`, they
///   may compute only the elements that the readers need.
/// Ensures: after the copy, the buffer contains the same values as before the directive.
extern const Primitive cache_write;

} // namespace nestsmith::primitives
