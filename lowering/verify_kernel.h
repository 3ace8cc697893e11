#pragma once
/// What every kernel must be, checked after every pass that makes one. A breach is a bug of ours.

#include "lowering/kernel.h"

#include <optional>
#include <string>

namespace nestsmith::kernel {

/// What is broken, or none:
///   - a variable is used only where it is visible, and declared once;
///   - barriers stand in uniform flow: below loops, and below an `If` only where all threads of a block decide
///     alike; so are the extents of loops;
///   - buffers are parameters or allocated; inputs are never stored to;
///   - vectors have 8 or 16 bytes, lie in memory, and are used whole or by a lane;
///   - where `finished` (after the last pass), shared arrays lie apart in the arena; what vectors need of their
///     memory is stated; indices of 32 bits are computed from values that provably fit; floor division and
///     modulo have operands that are provably not negative and constant divisors greater than 0, so that they
///     are C's `/` and `%`.
std::optional<std::string> find_breach(const Kernel &kernel, bool finished = true);

} // namespace nestsmith::kernel
