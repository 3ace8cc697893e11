#pragma once
/// The layout of an accumulator.

namespace nestsmith::test {

/// The layout of the accumulator of a matrix instruction with 16 x 8 results, for a box of several tiles.
inline constexpr const char *accumulator = "i, j -> i%8*4 + j%8//2, i//16, j//8, i%16//8*2 + j%2";

} // namespace nestsmith::test
