#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// reduce_across(k, threadIdx.x): distributes a loop of a reduction over the threads of a block, which then
/// combine their partial results. The reducer may be any: a sum, a product, a maximum, a minimum, or one that
/// the program defines.
///
///     for i: for k_outer < 8:                   for i:
///       for k < 128:                              for w < 4 in warp: for l < 32 in lane: for k_outer < 8:
///         M[i] = max(M[i], X[i, …])      =>         M_lane[l, w, i] = max(M_lane[l, w, i], X[i, …])
///                                                 for w < 4 in warp:
///                                                   for l < 32 tensorized by warp_max:
///                                                     M_warp[w, i] = max(M_warp[w, i], M_lane[l, w, i])
///                                                 for w < 4:
///                                                   M[i] = max(M[i], M_warp[w, i])
///
/// On the axis `lane`, the 32 lanes of each warp combine their results by shuffles. On threadIdx.x, with a
/// multiple of 32 threads and no loop on threadIdx.y or .z, the results of the warps are then combined through
/// shared memory. On any other thread axis, with another number of threads, of booleans, which no shuffle
/// moves, and of a reducer that is not commutative, the results of all threads are combined through shared
/// memory: each thread combines all of them, in the order of the threads.
///
/// If the result is in registers (the scope `local` or `warp`), each thread gets a copy of it: each lane of the
/// warp on the axis `lane`, each thread of the block otherwise. If it is in shared or global memory, the first
/// of the threads stores it. The directive is a sequence of others: rfactor, set_scope, bind, tensorize,
/// cache_write, reverse_compute_at and so on, each with its checks. The handle is the block that computes the
/// partial results of one thread, or of one thread block.
///
/// On a block axis, each thread block computes a part of the reduction, in global memory, and the last block to
/// finish combines the parts in their order: rfactor, bind, reverse_compute_at and last_block. The result is
/// the same in every run. Another reduce_across may then, and not before, distribute the part of a block over
/// its threads, and another one the combination of the parts.
///
///     for i in blockIdx.x:                  for i in blockIdx.x:
///       for k < 4:                            for k < 4 in blockIdx.y then last block: for l:
///         for l:                      =>        M_block[k, i] = max(M_block[k, i], X[i, …])
///           M[i] = max(M[i], X[i, …])         for k < 4: M[i] = max(M[i], M_block[k, i])
///
/// Requires [reduce_across.axis]: the loop can be bound to the axis, apart from its reduction:
///   [bind.constant], [bind.extent], [bind.lane], [bind.limit].
/// Requires [reduce_across.sum]: the requirements of rfactor: one block below k reduces over it, and no block
///   before the loops of the reduction in the nest uses its result.
/// Requires [reduce_across.readers]: if a block after them in the nest uses the result, no loop there is bound.
/// Requires [reduce_across.place]: there is a loop around all loops of the reduction, and the loops below it
///   can be reordered so that k is the first. On a block axis, all loops around k are bound to block axes.
/// Requires [reduce_across.step]: every other directive of the sequence is legal.
/// Ensures: the results are the same reductions, in another order.
extern const Primitive reduce_across;

} // namespace nestsmith::primitives
