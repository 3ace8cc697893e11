#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// share_cache(R, A_shared): R, too, reads through a copy that cache_read made for another block.
///
///     A_shared[v0, v1] = A[v0, v1];   R: … A[i, k] …     =>     …   R: … A_shared[i, k] …
///
/// A later compute_at moves the copy into a loop around all of its readers.
///
/// After cache_write, R may also read what the copy reads instead of the buffer that it fills. So a result that
/// is stored, and is read by another stage, need not be loaded again:
///
///     C[v0, v1] = C_local[v0, v1];   R: … C[i, j] …     =>     …   R: … C_local[i, j] …
///
/// Requires [share_cache.copy]: the block alone fills its buffer. It copies another buffer, each element to the
///   same place, without a mask.
/// Requires [share_cache.whole]: the copy has all elements of the buffer, in contrast to that of
///   `reindex_cache_read`. The loops around the copy compute all of its elements, in a nest of its own
///   before the nest of R. After compute_at, they may compute only those that the other readers need.
/// Requires [share_cache.reads]: R reads the buffer that the block copies, or the one that it fills, and does
/// not
///   write it.
/// Requires [share_cache.stale]: no block between the copy and R writes the buffer that the block copies.
/// Ensures: R reads the same values.
extern const Primitive share_cache;

} // namespace nestsmith::primitives
