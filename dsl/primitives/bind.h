#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// bind(i, threadIdx.x): distributes the iterations of a loop over a hardware axis.
///
///     for i < n: S     =>     for i < n in threadIdx.x: S
///
/// A nest below thread loops may bind a thread axis again. The same threads then share its iterations
/// (cooperative fetch).
///
/// Requires [bind.serial]: i is a serial loop.
/// Requires [bind.spatial]: no block below i sums over it; its threads would update one element concurrently.
/// Requires [bind.extent]: all loops of a nest on one axis have the same extent.
/// Requires [bind.constant]: a loop on a thread axis has a constant extent. On a block axis the extent may
///   depend on sizes; the launcher then checks it against the limit of the grid.
/// Requires [bind.limit]: the extent, and the product of the thread extents of the nest, are within the limits
///   of the target.
/// Requires [bind.nested]: nested loops on one axis are on a thread axis, and no block uses both of them.
/// Ensures: the sequential meaning is unchanged.
void bind(Schedule &schedule, Loop loop, Axis axis);

} // namespace nestsmith::primitives
