#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// launch_bounds(n): the compiler is to leave room for n thread blocks on an SM at a time: it may use no more
/// registers for a thread than that allows.
///
///     __launch_bounds__(256)     =>     __launch_bounds__(256, 2)
///
/// Requires [launch_bounds.count]: n >= 1, and at most the thread blocks that an SM of the target holds.
/// Requires [launch_bounds.threads]: an SM of the target holds n blocks of as many threads as are bound.
/// Ensures: the program is unchanged. That n blocks still fit once it is complete is an obligation.
void launch_bounds(Schedule &schedule, std::int64_t min_blocks);

} // namespace nestsmith::primitives
