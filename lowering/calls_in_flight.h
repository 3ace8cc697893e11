#pragma once
/// Calls of matrix units between their start and the wait for them.

#include "lowering/kernel.h"

namespace nestsmith::kernel {

/// Orders the calls of matrix units and the accesses of threads. The kernel must have its calls
/// (`make_warp_calls`) and its barriers.
///   - Calls without other statements between them are a group: a begin before it if the threads have accessed
///     its sums, and a commit after it.
///   - A wait for all calls before an access to their sums, and before the end.
///   - A wait before each barrier. At a barrier in a loop of which each iteration has one group, the latest
///     groups may stay in flight if the certificate states that their tiles are overwritten later.
void order_calls(Kernel &kernel);

} // namespace nestsmith::kernel
