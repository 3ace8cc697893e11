#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// vectorize(v): the iterations become the lanes of vector accesses such as float4: one load or store of 4, 8
/// or 16 bytes for all lanes. Accesses to parameters must be contiguous along the loop. The kernel accesses
/// registers, and strided elements in shared memory, lane by lane.
///
///     for v < 4: S     =>     for v < 4 vectorized: S
///
/// Requires [vectorize.serial]: v is a serial loop.
/// Requires [vectorize.width]: all lanes together have 4, 8 or 16 bytes: for f32, 2 or 4 lanes, and for f16, 2,
///   4 or 8 lanes. This applies to the elements that the block writes, and to those that it reads in vectors.
/// Requires [vectorize.innermost]: there is one block below v, and no other loop with more than one iteration.
/// Requires [vectorize.numbers]: the block writes no tuples, and reads one only if all lanes read the same.
/// Requires [vectorize.spatial]: each iteration writes a different element, and reads no element that another
///   iteration writes.
/// Requires [vectorize.contiguous]: along v, the offset of every access to a parameter advances by one element
///   or is constant.
/// Requires [vectorize.memory]: the block accesses global or shared memory, because registers have no vector
///   accesses.
/// Requires [vectorize.uniform]: each guard has the same value for all lanes of a vector: the extent in the
///   guard and the value of the binding in lane 0 are multiples of the number of lanes. The last vector of an
///   asynchronous copy (`async_copy` comes before) may be partial: it reads the elements that exist, and fills
///   the rest of the tile with zeros. A row must still start at a multiple of the number of lanes.
/// Requires [vectorize.aligned]: for each vector access to a parameter, the offset of lane 0 is a multiple of
///   the number of lanes.
/// Ensures: the sequential meaning is unchanged. Obligations: vectors in shared memory are aligned, and at
///   least one access is contiguous (later directives can still change the layout of shared memory).
extern const Primitive vectorize;

} // namespace nestsmith::primitives
