#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// pipeline(k, {{A_local, 0, 0}, {AB, 1, 1}, {A_shared, 0, 2}}): overlaps the nests below k of different
/// iterations. Each entry is a block, its stage and its order.
///
///     for k < n:                             A_local of 0; A_shared of 0
///       A_local: … A …                       for k < n:
///       A_shared: … A_local …        =>        if (k + 1 < n) A_local of k + 1
///       AB: … A_shared …                       AB of k
///                                              if (k + 1 < n) A_shared of k + 1
///
/// In step t of the pipeline, a block of stage s executes iteration t - s. Within a step, the nests execute in
/// ascending order. If stage w writes a shared tile and a later stage r reads it, the kernel has r - w + 1
/// copies of the tile, so that one barrier per iteration is sufficient. A temporary in registers has as few
/// copies as the orders allow. In the example, A_local fetches a tile of A into registers before the
/// computation AB, and A_shared stores the tile to shared memory after AB.
///
/// Requires [pipeline.serial]: k is a serial or unrolled loop that is not yet pipelined.
/// Requires [pipeline.blocks]: the list contains every block below k once, and no other block. In particular, a
///   block that reads a sum over k must not be below k, because the sum is complete only after the loop.
/// Requires [pipeline.nests]: the body of k is a sequence of two or more nests.
/// Requires [pipeline.together]: blocks of one nest have the same stage and order.
/// Requires [pipeline.stages]: there are two or more stages, numbered from 0. A gap follows only a stage whose
///   blocks all copy asynchronously (`async_copy`).
/// Requires [pipeline.orders]: the orders are distinct and range from 0 to the number of nests - 1.
/// Requires [pipeline.order]: within an iteration, a temporary is written in an earlier stage than it is read,
///   or in the same stage with a lower order.
/// Requires [pipeline.carried]: if all iterations share a memory location (a parameter, an accumulator),
///   dependent accesses to it keep their program order.
/// Requires [pipeline.registers]: each local temporary has one copy, unless k is unrolled.
/// Ensures: the sequential meaning and every result of the kernel are unchanged.
extern const Primitive pipeline;

} // namespace nestsmith::primitives
