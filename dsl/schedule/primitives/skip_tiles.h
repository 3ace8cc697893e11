#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// skip_tiles(k): thread blocks leave out the iterations of k in which no block has a term, or whose guards
/// exclude all instances.
///
///     for i in blockIdx.y:                            for i in blockIdx.y:
///       for k < n skipping:                     =>      for k < n:
///         A_shared: …                                     if (k*8 <= i*32 + 31) {
///         for ii < 32 in threadIdx.y: for kk < 8:           A_shared: …
///           C += select(k*8 + kk <= i*32 + ii, …, 0)        for kk < 8: C += …
///                                                         }
///
/// The condition follows from the masks of the terms: it compares the values that a mask has for the loops
/// inside of k and for the threads at their best. So it has no thread in it, all threads of a block take the
/// same side, and barriers, asynchronous copies and pipelines below k stay legal. A nest of a pipelined loop is
/// skipped on its own, for the iteration to which it belongs.
///
/// An instance has no term if its guard is false, or if the term is the identity of the reducer for all values
/// in memory: select(k <= i, x, 0) of a sum, or a read with `where_else(k <= i, -infinity, …)` of a maximum. A
/// masked factor of a product of floating-point numbers is not sufficient, because 0 times an infinity is NaN.
/// A read of a cache counts as a read of its copy.
///
/// So a loop of waves around whole tiles leaves out the tiles beyond the last one. `tile` is the loop over all
/// tiles:
///
///     [wave, sm] = split(tile, {infer, 132}); bind(sm, blockIdx.x); …; skip_tiles(wave):
///     for wave < 2:                                         for wave < 2:
///       for sm < 132 in blockIdx.x:                 =>        if (wave*132 + sm < 150) {
///         A_shared: …; C: … where C_i < 600                     A_shared: …; C: …
///                                                             }
///
/// Below the condition, the guards of which it decides the value are left out.
///
/// A loop with a joined pipeline ends earlier in place of the condition, and so does a pipelined loop of a nest
/// with roles where it may. The code of each value of the loop over thread blocks is made on its own. All of
/// them share a launch, with a one-dimensional grid, and code as nests of one launch do (share_launch). The
/// parts of a sum, with `part` on blockIdx.z and parts of 232 tiles:
///
///     for part < 2 in blockIdx.z:                           steps = part == 0 ? 232 : 24
///       for k_outer < 232:                         =>       for k_outer < steps: …
///         … where part*3712 + k_outer*16 + kk < 4096
///
/// Requires [skip_tiles.serial]: k is serial, and does not skip tiles yet. It may be pipelined, partitioned or
///   unrolled by a number.
/// Requires [skip_tiles.stores]: each block below k is the update of a reduction, or writes a temporary in
/// shared
///   memory or registers that only blocks below k use, in each iteration before they read it, or its guards are
///   false in whole iterations of k.
/// Requires [skip_tiles.init]: k is a loop of the reductions below it, so that their inits are outside, or the
///   guards of these reductions are false in whole iterations of k.
/// Requires [skip_tiles.absent]: the term of each of these updates is absent under a condition on indices.
/// Requires [skip_tiles.bounds]: for the loops inside of k and the threads, this condition excludes a whole
///   iteration of k.
/// Requires [skip_tiles.joined]: if k is pipelined, and a loop below it is joined or spread or bulk copies
///   fill its tiles, thread blocks leave out the last iterations of k only, not all, and how many depends on
///   one loop over thread blocks, with an extent of 16 at most, which is the only loop on its axis. It is the
///   same loop for all such k of a nest, whose grid is known, and has no clusters.
/// Ensures: the same instances with a term execute, in the same order.
extern const Primitive skip_tiles;

} // namespace nestsmith::primitives
