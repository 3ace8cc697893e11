#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// bulk_copy(B_shared): one thread issues the copy of the whole tile, and a unit of the multiprocessor executes
/// it (the tensor memory accelerator, TMA). The threads compute no addresses, and what lies outside of the
/// source is filled with zeros.
///
///     for k_outer …:                  =>     for k_outer …:
///       block B_shared(…):                     block B_shared(…) bulk:
///         B_shared[…] = B[…]                     B_shared[…] = B[…]
///
/// The block needs a role: its bytes count for the events by which the role passes its tiles on. The loops of
/// its nest below the pipelined loop stay serial. The innermost ones that fit are the *box* of one copy, which
/// the host describes by a tensor map; loops around them repeat it. So a nest of 16 x 256 elements is one box,
/// and one of 16 x 512 elements needs a split.
///
/// A block that copies a tile of results to global memory is a *bulk store*. It needs no role: the first lane
/// of each warp issues the copies of the boxes of its warp, and waits until they have read the tile before the
/// warp overwrites it. What lies outside of the array is not written.
///
///     for w in warp:                         for w in warp:
///       block C_shared(…): …                   block C_shared(…): …
///       block C(…):                =>          block C(…) bulk:
///         C[…] = C_shared[…]                     C[…] = C_shared[…]
///
/// Requires [bulk_copy.feature]: the target has bulk copies of tensors.
/// Requires [bulk_copy.copy]: the block copies single elements from global to shared memory, without a
///   conversion, and a load with a mask gives 0 where the mask is false; or from shared to global memory,
///   without a conversion and without a mask.
/// Ensures: the sequential meaning and every result of the kernel are unchanged. Obligations: the block has a
///   role or, of a bulk store, is below a loop that is bound to warps and below no pipelined loop. Its loops
///   are not bound, and count the elements of boxes: at most 5 dimensions, at most 256 elements in each, rows
///   of a multiple of 16 bytes. The rows of the array in global memory are a multiple of 16 bytes apart. The
///   tile stores a box in its order, or with the swizzle of its rows of 32, 64 or 128 bytes: `swizzle(3, 3, 3)`
///   for 64 elements of 2 bytes. A mask or a guard excludes only what lies outside of the array. No block of
///   the nest writes the source of a copy; no other block writes the array of a store, and none reads it after
///   the store.
extern const Primitive bulk_copy;

} // namespace nestsmith::primitives
