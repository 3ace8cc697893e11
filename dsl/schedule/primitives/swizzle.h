#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// swizzle(W, bits, base, shift): permutes the elements of the temporary that W writes, so that neither a row
/// access nor a column access has bank conflicts. No padding is needed. The permutation is CuTe's Swizzle<bits,
/// base, shift>.
///
///     A_shared at x     =>     A_shared at x ^ ((x >> shift) & ((2^bits - 1) << base))
///
/// x is the offset of an element from the start of the array. Groups of 2^base consecutive elements stay
/// consecutive: with base = 2, a vector access of four floats is still possible. The size of the array is
/// rounded up to a multiple of 2^(base + bits) elements, because the permutation maps each aligned group of
/// this size to itself.
///
/// Requires [swizzle.temporary]: W writes a temporary.
/// Requires [swizzle.shared]: the temporary is in shared memory.
/// Requires [swizzle.numbers]: bits >= 1, base >= 0, shift >= bits, and bits + base + shift <= 24.
/// Requires [swizzle.once]: the temporary is not swizzled yet.
/// Ensures: the sequential meaning is unchanged.
extern const Primitive swizzle;

} // namespace nestsmith::primitives
