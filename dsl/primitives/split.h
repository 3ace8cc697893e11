#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// split(i, {f0, …, fn}): one loop becomes a nest of n+1; one factor may be `infer`.
///
///     for i < n: S     =>     for i_outer < ceil(n/f): for i_inner < f: S with i = i_outer*f + i_inner
///
/// Where the factors do not divide the extent, the blocks below are guarded by `binding < extent`. Two
/// new loops are called i_outer and i_inner, more are called i_0, i_1, ….
///
/// Requires [split.serial]: i is a serial loop.
/// Requires [split.factors]: 1 to 16 factors, each at least 1, at most one of them `infer`.
/// Requires [split.outermost]: where the extent is of sizes, the first factor is `infer`: what is known only at
///   launch is outside of the tile.
/// Requires [split.covers]: the product of given factors is at least the extent.
/// Requires [split.tail]: where the factors do not divide the extent, i is the outermost part of an axis
///   of every block below, so that the iterations past its end are past the end of that axis too.
/// Ensures: every iteration runs once, in the same order.
std::vector<Loop> split(Schedule &schedule, Loop loop, std::vector<std::int64_t> factors);

} // namespace nestsmith::primitives
