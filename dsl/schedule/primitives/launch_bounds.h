#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// launch_bounds(n): limits the registers per thread so that n thread blocks can be resident on an SM.
///
///     __launch_bounds__(256)     =>     __launch_bounds__(256, 2)
///
/// Requires [launch_bounds.count]: 1 <= n <= the limit of resident thread blocks per SM of the target.
/// Requires [launch_bounds.threads]: n thread blocks, with the number of threads that the schedule binds, fit
///   on one SM of the target.
/// Ensures: the loops are unchanged. Obligation: n blocks still fit on an SM when the schedule is complete.
extern const Primitive launch_bounds;

} // namespace nestsmith::primitives
