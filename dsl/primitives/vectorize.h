#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// vectorize(v): the iterations become the lanes of vector accesses, such as float4: one load or store of 8
/// or 16 bytes moves them all. Along the loop a parameter is read and written side by side; what lies
/// strided in shared memory, or in registers, is accessed lane by lane.
///
///     for v < 4: S     =>     for v < 4 vectorized: S
///
/// Requires [vectorize.serial]: v is a serial loop.
/// Requires [vectorize.width]: its iterations take 8 or 16 bytes, of elements of 4 or 8: 2 or 4 of f32.
/// Requires [vectorize.innermost]: there is one block below v, and no other loop of several iterations.
/// Requires [vectorize.spatial]: each iteration writes an element of its own, and reads nothing that another
/// one writes.
/// Requires [vectorize.contiguous]: along v every parameter moves by one element, or not at all.
/// Requires [vectorize.memory]: something in global or shared memory moves along v; registers have no vectors.
/// Requires [vectorize.uniform]: each guard has one value for all lanes: extent and start are multiples of
/// the lanes.
/// Requires [vectorize.aligned]: vectors of parameters start at multiples of the lanes.
/// Ensures: the sequential meaning is unchanged. That tiles in shared memory are aligned, and something
/// contiguous, is an obligation: later directives may give them another layout.
void vectorize(Schedule &schedule, Loop loop);

} // namespace nestsmith::primitives
