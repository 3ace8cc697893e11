#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// vectorize(v): the iterations become the lanes of vector accesses such as float4, with one load or store of 8
/// or 16 bytes for all lanes. Parameters must be contiguous along the loop. Registers, and strided elements in
/// shared memory, are accessed lane by lane.
///
///     for v < 4: S     =>     for v < 4 vectorized: S
///
/// Requires [vectorize.serial]: v is a serial loop.
/// Requires [vectorize.width]: the lanes take 8 or 16 bytes, of elements of 4 or 8 bytes: 2 or 4 lanes of f32.
/// Requires [vectorize.innermost]: there is one block below v, and no other loop with more than one iteration.
/// Requires [vectorize.spatial]: each iteration writes a different element, and reads no element that another
///   iteration writes.
/// Requires [vectorize.contiguous]: along v, the offset of every access to a parameter advances by one element
///   or is constant.
/// Requires [vectorize.memory]: the block accesses global or shared memory; registers have no vectors.
/// Requires [vectorize.uniform]: each guard has one value for all lanes: the extent and the start are multiples
///   of the number of lanes.
/// Requires [vectorize.aligned]: vectors of parameters start at multiples of the number of lanes.
/// Ensures: the sequential meaning is unchanged. It is an obligation that tiles in shared memory are aligned
///   and that at least one access is contiguous, since later directives may change their layout.
void vectorize(Schedule &schedule, Loop loop);

} // namespace nestsmith::primitives
