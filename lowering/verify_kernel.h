#pragma once
/// The invariants of kernels, checked after every pass that produces one. A breach is a bug in nestsmith.

#include "lowering/kernel.h"

#include <optional>
#include <string>

namespace nestsmith::kernel {

/// Returns a description of the first broken invariant, or none:
///   - A variable is declared once and used only where it is visible.
///   - Barriers and loop extents are uniform: a barrier is below an `If` only if the condition has the same
///     value in all threads of the block.
///   - Buffers are parameters or allocations, and no store writes an input.
///   - A vector access has 4, 8 or 16 bytes and does not access registers. An expression uses a vector as a
///     whole, or one lane of it.
///
/// `finished` is true after the last pass. Then the function also checks:
///   - Shared arrays do not overlap in the arena, and the alignment that vector accesses need is stated.
///   - A 32-bit index is computed from values that provably fit.
///   - Floor division and modulo have provably non-negative dividends and positive divisors, so that they equal
///     C's `/` and `%`.
///   - The registers that a call takes as words start a word, and its result shares no register with another
///     operand.
///   - C++ defines each operation on integer data for all data: signed arithmetic provably does not overflow,
///     an unsigned divisor is a constant other than 0, and a conversion from f32 is a call.
std::optional<std::string> find_breach(const Kernel &kernel, bool finished = true);

} // namespace nestsmith::kernel
