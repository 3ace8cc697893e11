#pragma once
/// The inputs of the runs of a check.

#include "dsl/ir/array.h"
#include "dsl/ir/program.h"
#include "dsl/ir/residues.h"

#include <cstdint>
#include <vector>

namespace nestsmith {

/// The inputs of one run of a check. In every run, an element is compared within its error bound
/// (runtime/check/error_analysis.h), which is 0 if the element is exact: then all bits must be equal.
///   random    f32 in [-1, 1), scalars with 0.5 <= |x| < 1.5
///   integers  f32 with small integers, every partial sum below 2^24 in magnitude; bit for bit. Divisors are
///     powers of two. If the computation divides by a constant, the integers are multiples of its odd part
///   ring      all results are integers, which wrap around; floating-point inputs are small integers
///   switched  like `integers` or `ring`, but the scalar that disables the read of an inout parameter (beta)
///     is 0, and the inout parameter is filled with NaN, or with poison if its dtype is an integer
///   infinite  half of all elements infinite, the others small and positive. Detects a mask that is missing on
///     one factor of a masked product: 0 times infinity is NaN
///   opposite  like `infinite`, with the two halves exchanged. If the computation only compares elements, they
///     are negative, and the last quarter of an array is -infinity alone, the identity of a maximum: an argmax
///     must still give the index of an element
///   ties      elements halfway between two numbers of the narrow types to which the computation rounds, and
///     few terms other than 0 in a sum, so that the sums are exact. Detects a rounding that is lost, or that
///     does not round to nearest
/// The further ranges are for a computation of which not every element has an error bound in the runs above,
/// because a divisor may be 0 or f32 may overflow:
///   positive     elements and scalars in [0.5, 1.5)
///   alternating  the same, negative for every second parameter
///   graded       the same, times 8 for each parameter
///   rising       elements that increase with their position, from 1 to 5
/// Where f32 is not exact, residues stand for floating-point numbers (dsl/ir/residues.h), bit for bit:
///   residue_ring   of a computation that calls exp or exp2
///   residue_field  of any other
/// exp(x - m) / sum is the same for each m, also if m is a wrong maximum; only large numbers tell. So a
/// computation that calls exp and takes a maximum has runs with large elements:
///   steep_up     from 1e3 to 2.1e4, which rise along each axis; a minimum that starts at 0 is wrong
///   steep_down   from -1e3 to -2.1e4, which fall; a maximum that starts at 0 is wrong
///   scattered    from -1e4 to 1e4; the largest element is at each place of a row in turn, and no other one is
///     so near to it that exp of the difference is finite
/// In the runs `integers`, `ring` and `switched`, an eighth of the elements that are not at an edge of their
/// array are 0 or -0.
///
/// Integers have values of the whole range of their dtype, in every run. But an integer that is computed to an
/// index, or converted to floating point, has at most `largest_integer` in magnitude: a larger one would be out
/// of bounds, or inexact. u32 data have all values also as an index. Infinities are floating-point values only.
enum class CheckRun : std::uint8_t {
  random,
  integers,
  ring,
  switched,
  infinite,
  opposite,
  ties,
  positive,
  alternating,
  graded,
  rising,
  residue_ring,
  residue_field,
  steep_up,
  steep_down,
  scattered
};
inline constexpr CheckRun last_check_run = CheckRun::scattered;
inline bool is_steep(CheckRun run) { return run >= CheckRun::steep_up; }

/// Arrays and scalars for one run of `source`, in the order of its parameters. Outputs are filled with a poison
/// value.
struct Inputs {
  std::vector<Array> arrays;
  std::vector<Scalar> scalars;
};
/// `largest_integer` is the largest absolute value of the inputs in the runs `integers` and `switched`.
Inputs make_inputs(const Program &source, CheckRun run, std::uint64_t seed, int largest_integer = 8);

/// The filler between the rows of an array. For floating point it is a NaN, so that the result shows a read of
/// it.
std::uint32_t filler_of(const Buffer &buffer);

/// Whether the computation rounds to a narrow floating-point type, so that `ties` applies.
bool rounds_to_narrow(const Program &source);

/// Whether the floating-point inputs have fractions: they are compared within an error bound.
inline bool is_floating_point(CheckRun run) {
  return run == CheckRun::random || (run >= CheckRun::positive && run <= CheckRun::rising) || is_steep(run);
}
/// The arithmetic of a run.
inline Arithmetic arithmetic_of(CheckRun run) {
  return run == CheckRun::residue_ring    ? Arithmetic::ring
         : run == CheckRun::residue_field ? Arithmetic::field
                                          : Arithmetic::floating;
}
inline bool with_infinities(CheckRun run) { return run == CheckRun::infinite || run == CheckRun::opposite; }

} // namespace nestsmith
