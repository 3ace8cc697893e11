#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// bind(i, threadIdx.x): the iterations of the loop are spread over a hardware axis.
///
///     for i < n: S     =>     for i < n in threadIdx.x: S
///
/// A nest below thread loops may bind a thread axis again: its iterations are then shared by the same
/// threads (cooperative fetch).
///
/// Requires [bind.serial]: i is a serial loop.
/// Requires [bind.spatial]: no block below sums over i: its partial sums would meet in one element.
/// Requires [bind.extent]: all loops of a nest on one axis have one extent.
/// Requires [bind.constant]: on a thread axis the extent is constant; on a block axis it may be of sizes, and
///   is checked at launch against the limit of the grid.
/// Requires [bind.limit]: the extent, and the product of the nest's thread axes, are within the target's
///   limits.
/// Requires [bind.nested]: where loops on one axis are nested, it is a thread axis and no block uses both.
/// Ensures: the sequential meaning is unchanged.
void bind(Schedule &schedule, Loop loop, Axis axis);

} // namespace nestsmith::primitives
