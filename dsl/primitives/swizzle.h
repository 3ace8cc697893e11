#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// swizzle(W, bits, base, shift): the elements of the temporary that W writes change places, so that columns
/// as well as rows fall into different banks, without padding. This is CuTe's Swizzle<bits, base, shift>.
///
///     A_shared at x     =>     A_shared at x ^ ((x >> shift) & ((2^bits - 1) << base))
///
/// x is the offset of an element from the start of the array. Each 2^base neighbours stay neighbours: with
/// base 2 four floats can still be accessed as one vector. The array is rounded up to whole groups of
/// 2^(base + bits) elements, within which all changes of place stay.
///
/// Requires [swizzle.temporary]: W writes a temporary.
/// Requires [swizzle.shared]: it is in shared memory.
/// Requires [swizzle.numbers]: bits >= 1, base >= 0, shift >= bits, and their sum at most 24.
/// Requires [swizzle.once]: it is not swizzled yet.
/// Ensures: the sequential meaning is unchanged.
void swizzle(Schedule &schedule, BlockRef writer, std::int64_t bits, std::int64_t base, std::int64_t shift);

} // namespace nestsmith::primitives
