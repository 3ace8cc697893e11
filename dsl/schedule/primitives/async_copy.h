#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// async_copy(A_shared): the block copies a tile to shared memory with asynchronous copies of 4, 8 or 16 bytes
/// (`cp.async`). The data does not pass through registers, and a thread computes while its copies are in
/// flight.
///
///     block A_shared(…):     =>     block A_shared(…) async:
///       A_shared[…] = A[…]            A_shared[…] = A[…]
///
/// The kernel waits for the copies before the first use of the tile. If the loop around them is pipelined and
/// the tile is read d stages later, the copies of d iterations are in flight. So the stages of `pipeline` may
/// have gaps after an asynchronous copy: {{A_shared, 0, 0}, {B_shared, 0, 1}, {AB, 2, 2}}. Vectorize the copy
/// for copies of 8 or 16 bytes: before or after `async_copy`, but after it if rows of the source end within a
/// vector.
///
/// Requires [async_copy.feature]: the target has `cp.async`.
/// Requires [async_copy.shared]: the block writes shared memory.
/// Requires [async_copy.copy]: the block stores one load from global memory, without a conversion.
/// Requires [async_copy.fill]: a load with a mask gives 0 where the mask is false.
/// Ensures: the sequential meaning and every result of the kernel are unchanged. Obligations: the block is
///   still such a copy. Each copy has 4, 8 or 16 bytes: elements of 1 or 2 bytes need `vectorize`. A block
///   of the nest reads the tile. Below a pipelined loop with asynchronous copies, there are no asynchronous
///   copies of inner loops, each reader of the tile is below the loop and has a later stage, and no block
///   writes the source.
extern const Primitive async_copy;

} // namespace nestsmith::primitives
