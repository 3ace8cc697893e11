#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// cache_read(R, "A", shared): R reads A through a copy, usually in faster memory.
///
///     R: … A[i, k] …     =>     A_shared[v0, v1] = A[v0, v1];     R: … A_shared[i, k] …
///
/// The new block copies the whole buffer, in a nest before the nest of R. A later compute_at can move the copy
/// into a loop of R and shrink it to a tile.
///
/// A mask moves into the copy, with the fill. The cache then also has the elements outside of the buffer that R
/// reads under the mask, and R reads it without a mask:
///
///     R: … A[i + d - 1] where 0 < i + d, i + d <= N else 0 …
///       =>     A_shared[v0] = A[v0 - 1] where 0 < v0, v0 <= N else 0;     R: … A_shared[i + d] …
///
/// R keeps its masks, and the cache has only the elements of the buffer, if a mask or a fill is no function of
/// the element (A[k] where k <= i), or reads memory, or if the reads of R have different fills, or masks that
/// do not agree on an element.
///
/// In the scope `global`, the copy is an array of its own, which a kernel before that of R fills. Its
/// dimensions are those of A; `reindex_cache_read` makes a copy with those of R, such as a transposed matrix.
///
/// In the scope `local`, R may also write the buffer, if it is a parameter and R reads each element only where
/// it overwrites it:
///
///     R: C[i, j] = … C[i, j] …     =>     C_local[v0, v1] = C[v0, v1];     R: C[i, j] = … C_local[i, j] …
///
/// A thread then loads several elements before it stores the first one, so that it waits once for them.
///
/// Requires [cache_read.reads]: R reads the buffer.
/// Requires [cache_read.scope]: the scope is shared, local or warp; or global, if A is in global memory.
/// Requires [cache_read.unwritten]: R does not write the buffer itself, except in place and in the scope local.
/// Requires [cache_read.before]: no other block in the nest of R writes the buffer, so that the buffer is
///   complete before the nest.
/// Requires [cache_read.whole]: if R reads a temporary, the loops around its writer compute all its elements.
///   After `compute_at`, they may compute only the elements that a mask does not exclude, or a part that `cut`
///   made needs.
/// Ensures: R reads the same values.
extern const Primitive cache_read;

} // namespace nestsmith::primitives
