#pragma once
/// The launch of a kernel, as the program states it: its thread and block indices, and the sizes that it
/// supports.

#include "dsl/hardware/target.h"
#include "dsl/ir/program.h"
#include "lowering/kernel.h"

#include <vector>

namespace nestsmith {

/// One variable for each axis with an extent other than 1. It has the name of its loop; if several loops share
/// the axis, it has the usual CUDA name (tid, tx, …). Loops on warps and lanes use the index on threadIdx.x.
std::vector<kernel::ThreadIndex> indices_of(const Program &program, const Target &target);

/// The conditions on sizes under which a kernel with these indices is correct: the stated ranges and multiples,
/// leading dimensions no smaller than the row length, relations that the reads of the unscheduled computation
/// `source` need, and a grid that the device can launch.
std::vector<kernel::Assumption> assumptions_of(const Program &program, const Program &source,
                                               const std::vector<kernel::ThreadIndex> &indices);

} // namespace nestsmith
