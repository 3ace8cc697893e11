#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// last_block(k): the last thread block to finish its iteration of k executes the statements after k. All
/// thread blocks with the same values of the loops around k count their arrivals.
///
///     for i in blockIdx.x:                       for i in blockIdx.x:
///       for k < n in blockIdx.y: P       =>        for k < n in blockIdx.y then last block: P
///       S                                          S
///
/// After `rfactor(k)` and `reverse_compute_at`, P computes partial sums in global memory, and S adds them in a
/// fixed order: split-K in one kernel. The sum is the same in every run. The kernel needs one counter in global
/// memory for each iteration of the loops around k. The counters are zero before and after each launch.
///
/// Marked loops may be nested: a sum in two levels. The last block of each group of parts adds the group, and
/// the last one of these blocks adds the sums of the groups. So several thread blocks share the addition:
///
///     for i in blockIdx.x:
///       for group < n in blockIdx.y then last block:
///         for part < m in blockIdx.z then last block: P
///         S1
///       S2
///
/// Requires [last_block.axis]: k is bound to a block axis.
/// Requires [last_block.around]: there is a loop around k, and each loop around k is bound to a block axis.
/// Requires [last_block.after]: a statement follows k in the body of the loop around k.
/// Requires [last_block.once]: each other loop of the nest that has this mark is around k or below it.
/// Ensures: the sequential meaning is unchanged. Obligations: the nest has no other loop that is bound to a
///   block axis. The statements after k read only elements of temporaries in global memory that the same
///   iteration of the loops around k wrote.
extern const Primitive last_block;

} // namespace nestsmith::primitives
