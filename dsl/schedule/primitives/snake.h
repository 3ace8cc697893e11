#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// snake(i, j): the loop j runs backwards in each odd iteration of i. So consecutive iterations of i start with
/// the elements along j that the previous iteration used last, and the compiler can take them from registers
/// that the last operation read.
///
///     for i < 2 unrolled:                    S for (i, j) = (0, 0), (0, 1), (0, 2),
///       for j < 3 unrolled: S      =>                       (1, 2), (1, 1), (1, 0)
///
/// Other loops may be between i and j. Several loops can be reversed by the same loop i.
///
/// Requires [snake.unrolled]: i and j are unrolled, so that the kernel contains no conditions on i.
/// Requires [snake.once]: no other loop reverses j yet, and j is not pipelined.
/// Requires [snake.nested]: j is below i.
/// Requires [snake.alone]: j contains exactly one block.
/// Requires [snake.distinct]: while the loops around j are fixed, each iteration of j writes different
/// elements.
///   So its results do not depend on the order of the iterations.
/// Ensures: every iteration executes once.
extern const Primitive snake;

} // namespace nestsmith::primitives
