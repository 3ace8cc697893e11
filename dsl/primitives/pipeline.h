#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// pipeline(k, {{A_local, 0, 0}, {AB, 1, 1}, {A_shared, 0, 2}}): overlaps the nests below k in time.
///
///     for k < n:                             A_local of 0; A_shared of 0
///       A_local: … A …                       for k < n:
///       A_shared: … A_local …        =>        if (k + 1 < n) A_local of k + 1
///       AB: … A_shared …                       AB of k
///                                              if (k + 1 < n) A_shared of k + 1
///
/// A block of stage s executes iteration t - s in step t. Within a step the nests execute by their orders.
/// Blocks of one nest below k have the same stage and order. A shared tile that stage w writes and a later
/// stage r reads gets r - w + 1 copies, so that one barrier per iteration suffices. Registers get the fewest
/// copies that the orders allow. A tile that reaches shared memory through registers (cache_read of the tile
/// into local) is loaded before the computation of a step and stored after it.
///
/// Requires [pipeline.serial]: k is a serial or unrolled loop and not yet pipelined.
/// Requires [pipeline.blocks]: the list names every block below k once, and no other block. A reader of a sum
///   over k is not below k: the sum is complete only after the loop.
/// Requires [pipeline.nests]: the body of k is a sequence of two or more nests.
/// Requires [pipeline.together]: blocks of one nest have the same stage and order.
/// Requires [pipeline.stages]: there are two or more stages, numbered from 0 without a gap.
/// Requires [pipeline.orders]: the orders are distinct and range from 0 to the number of nests - 1.
/// Requires [pipeline.order]: within an iteration, a temporary is written in an earlier stage than it is read,
///   or in the same stage with a lower order.
/// Requires [pipeline.carried]: accesses to memory that all iterations share keep their program order.
/// Requires [pipeline.registers]: a local temporary needs one copy, or k is unrolled.
/// Ensures: the sequential meaning and every result of the kernel are unchanged.
void pipeline(Schedule &schedule, Loop loop, std::vector<Stage> stages);

} // namespace nestsmith::primitives
