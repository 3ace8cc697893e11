#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// bind(i, threadIdx.x): distributes the iterations of a loop over a hardware axis.
///
///     for i < n: S     =>     for i < n in threadIdx.x: S
///
/// A nest inside of thread loops may bind the same thread axis again. The threads then share the iterations of
/// this nest (cooperative fetch).
///
/// If other loops on threadIdx.x, .y or .z have more iterations than a loop of one iteration, the loop gets as
/// many iterations, and a guard lets the first thread execute its blocks: one thread adds the partial sums of a
/// block. On threadIdx.x, it gets the threads of the loops on `warp` and `lane`, too.
///
/// The axes `warp` and `lane` are the digits threadIdx.x // 32 and threadIdx.x % 32. A nest may bind some loops
/// to these and others to threadIdx.x.
///
/// The thread blocks along the axis `cluster` run at the same time (dsl/hardware/cluster.h). A copy below a
/// loop on `cluster` may have another one: each thread block then copies a part for all of its cluster, in
/// bulk.
///
/// Requires [bind.serial]: i is a serial loop.
/// Requires [bind.spatial]: no block below i sums over i, except by `nondeterministic_atomics`. The threads
///   would update the same element concurrently.
/// Requires [bind.extent]: in one nest, all loops that are bound to the same axis have the same extent, apart
///   from loops of one iteration on threadIdx.x, .y or .z. The blocks below such a loop and a longer one on its
///   axis do not add to what they write, read no parameter that is written there, and write nothing that
///   another block there writes. The extent on threadIdx.x is 32 times the extent on `warp`.
/// Requires [bind.constant]: a loop on a thread axis has a constant extent. A loop on a block axis may have an
///   extent that depends on sizes; the launcher then checks the extent against the limit of the grid.
/// Requires [bind.limit]: the extent, and the product of the thread extents of the nest, are within the limits
///   of the target.
/// Requires [bind.nested]: two nested loops may be bound to the same axis only if it is a thread axis, and no
///   block may use both loop variables; or if it is `cluster`, and no block below the inner loop uses the
///   variable of the outer one.
/// Requires [bind.cluster]: a loop on `cluster` has 1, 2, 4 or 8 iterations, the target has clusters, and no
///   loop of the nest is on blockIdx.z.
/// Requires [bind.lane]: a loop on the axis `lane` has 32 iterations.
/// Requires [bind.warps]: a nest with a loop on `warp` or `lane` has no loop on threadIdx.y or threadIdx.z.
/// Ensures: the sequential meaning is unchanged.
extern const Primitive bind;

} // namespace nestsmith::primitives
