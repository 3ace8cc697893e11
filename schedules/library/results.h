#pragma once
/// Where the stages that read a sum are computed.

#include "dsl/schedule/schedule.h"

#include <vector>

namespace nestsmith::library {

/// The blocks that read the sum, element by element, and are computed where it is complete. All other blocks
/// read these. Stages between the sum and its results are inlined. If the sum is a parameter, or if a stage
/// does more than read it element by element, the sum gets a cache in `scope`, and the block that stores it is
/// a result. `apart`: that block is the only result, and what reads the sum stays where it is.
std::vector<BlockRef> results_of_sum(Schedule &s, BlockRef sum, Scope scope, bool apart);

} // namespace nestsmith::library
