#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// reindex_cache_read(R, "A", shared): R reads A through a copy whose indices are axes of R.
///
///     R: … A[i//50, i % 50, k] …     =>     A_shared[v_i, v_k] = A[v_i//50, v_i % 50, v_k]
///                                           R: … A_shared[i, k] …
///
/// The copy has one dimension for each axis of R that the read uses, in the order of the axes, and the mask and
/// the fill of the read. In contrast to a copy by `cache_read`, its elements are those that R reads, so that an
/// element of A that several instances read may be several elements of the copy: the operand of a convolution
/// becomes a matrix. If R reads A at several places, the copy is that of the first one, and the other reads
/// stay: in S[i, j] = sum of A[i, k]*A[j, k], each operand gets a copy of its own. A later compute_at can move
/// the copy into a loop of R and shrink it to a tile.
///
/// Requires [reindex_cache_read.reads]: R reads the buffer.
/// Requires [reindex_cache_read.scope]: the scope is shared, local or warp; or global, if A is in global
///   memory.
/// Requires [reindex_cache_read.unwritten]: R does not write the buffer itself.
/// Requires [reindex_cache_read.before]: no block in the nest of R writes the buffer, so that the buffer is
///   complete before the nest.
/// Requires [reindex_cache_read.whole]: if the buffer is a temporary, the loops around its writer compute all
/// of
///   its elements, and those around R have all elements of the axes of R.
/// Ensures: R reads the same values.
extern const Primitive reindex_cache_read;

} // namespace nestsmith::primitives
