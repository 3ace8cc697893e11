#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// launch_bounds(n): limits the registers per thread so that n thread blocks can be resident on an SM.
///
///     __launch_bounds__(256)     =>     __launch_bounds__(256, 2)
///
/// Requires [launch_bounds.count]: 1 <= n <= the limit of resident thread blocks per SM of the target.
/// Requires [launch_bounds.threads]: n blocks of the bound number of threads fit on an SM of the target.
/// Ensures: the program is unchanged. It is an obligation that n blocks still fit when the schedule is
///   complete.
void launch_bounds(Schedule &schedule, std::int64_t min_blocks);

} // namespace nestsmith::primitives
