#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// nondeterministic_atomics(B): threads combine their terms of the reduction B by atomic operations in global
/// memory, in any order. So a sum of floating-point numbers differs from run to run by its roundings.
///
///     for i: for k: [k = 0: init] C[i] += t   =>   for i: init C[i];     for i: for k: atomic C[i] += t
///
/// Of f32, a GPU flushes subnormal numbers to 0 in these operations.
///
/// The init moves to a new nest at the start of the program, which becomes a kernel of its own. Then loops of
/// the reduction may be bound to block and thread axes, and `reverse_compute_at` may move B into a loop of its
/// input that is a part of the reduction: after `rfactor(k)`, each iteration of k adds its partial sum.
/// `reduce_across` on a block axis gives the same result in every run, and needs memory for the partial sums.
///
/// A reader of the result is in a later nest, and so in another kernel: the result is complete after all thread
/// blocks. Also the last block (`last_block`) reads no result of atomics. It counts arrivals anyway, and with a
/// memory for the partial sums it adds them in a fixed order, so atomics would only lose this order.
///
/// Requires [nondeterministic_atomics.init]: B has an init, so its reduction is not decomposed.
/// Requires [nondeterministic_atomics.reducer]: CUDA has one atomic operation for the reducer and the dtype: a
///   sum of f32, f64, i32 or u32, or a maximum or minimum of i32 or u32.
/// Requires [nondeterministic_atomics.alone]: no other block of the nest uses the buffer of B.
/// Requires [nondeterministic_atomics.once]: no loop around B repeats it for the same elements, after
///   `compute_at`.
/// Requires [nondeterministic_atomics.order]: no other block accesses an element of a parameter between its
///   init and its first update.
/// Ensures: the result is the same reduction, in another order. Obligations: the buffer is in global memory,
///   and each instance of B is executed by one thread.
extern const Primitive nondeterministic_atomics;

} // namespace nestsmith::primitives
