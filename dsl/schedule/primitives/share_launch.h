#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// share_launch(j): the nest of j and the nest before it become one kernel. The thread blocks of the nest
/// before come first in the grid, and those of the nest of j follow. So a multiprocessor that has no block of
/// the first nest left begins with the second nest, and does not wait for the end of the first.
///
///     for i in blockIdx.x: S     =>     for i in blockIdx.x: S
///     for j in blockIdx.x: T            for j in blockIdx.x launched with the nest before: T
///
/// The nest before may share the launch of its predecessor, too. The grid is one-dimensional, and has the
/// blocks of all nests. The nests use the same registers and the same shared memory: the kernel needs about as
/// much as the larger of them. In a kernel with roles and without calls of matrix units, nests whose tiles have
/// the same places in shared memory share their code as far as it differs only in numbers: so their loops over
/// k are one loop.
///
/// Requires [share_launch.outermost]: j is the outermost loop of its nest, and bound to a block axis.
/// Requires [share_launch.follows]: a nest is before that of j, and one of its loops is bound to a block axis.
/// Requires [share_launch.once]: j does not share a launch yet.
/// Ensures: the sequential meaning is unchanged. Obligations: the nests have the same number of threads on each
///   axis, the same roles of warps, and grids of constant extents. No nest accesses an element of global memory
///   that another one of the same launch writes, because thread blocks are unordered.
extern const Primitive share_launch;

} // namespace nestsmith::primitives
