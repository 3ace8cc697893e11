#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// pipeline(k, {{A_local, 0, 0}, {AB, 1, 1}, {A_shared, 0, 2}}): the nests below k overlap in time.
///
///     for k < n:                             A_local of 0; A_shared of 0
///       A_local: … A …                       for k < n:
///       A_shared: … A_local …        =>        if (k + 1 < n) A_local of k + 1
///       AB: … A_shared …                       AB of k
///                                              if (k + 1 < n) A_shared of k + 1
///
/// A block of stage s runs for iteration t - s in step t; in one step the nests run by their orders. Blocks of
/// one nest below k share both. A shared tile that is written in one stage and read in another gets a copy for
/// each stage between them and one more, so that one barrier an iteration is enough; registers get as few as
/// the orders allow. A tile that goes to shared memory through registers (cache_read of the tile into local)
/// is loaded before the loop computes and stored after it.
///
/// Requires [pipeline.serial]: k is a serial or unrolled loop and not yet pipelined.
/// Requires [pipeline.blocks]: every block below k is named once, and no other block; what reads a sum over k
///   is complete after the loop only.
/// Requires [pipeline.nests]: the body of k is a sequence of at least two nests.
/// Requires [pipeline.together]: blocks of one nest have one stage and one order.
/// Requires [pipeline.stages]: the stages begin at 0 and leave none out, and there are at least two.
/// Requires [pipeline.orders]: each nest has an order of its own, 0 to the number of nests - 1.
/// Requires [pipeline.order]: what one iteration reads of its own temporaries has been written in an earlier
///   stage, or in the same stage by an earlier order.
/// Requires [pipeline.carried]: what all iterations share is accessed in the order of the program.
/// Requires [pipeline.registers]: a local temporary needs one copy, or k is unrolled.
/// Ensures: the sequential meaning is unchanged, and so is every result of the kernel.
void pipeline(Schedule &schedule, Loop loop, std::vector<Stage> stages);

} // namespace nestsmith::primitives
