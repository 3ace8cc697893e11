#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// partition(k): generates separate code for full tiles and for the partial tile at the edge. The code for full
/// tiles has no guards. If k is pipelined, its last iterations, which have nothing left to load, get code of
/// their own too.
///
///     for k < n partitioned:                          for k < n - 1:
///       for l < 8: if (k*8 + l < K) S         =>        for l < 8: S
///                                                     for l < 8: if ((n - 1)*8 + l < K) S
///
/// A mask that compares indices, such as 0 <= i + k - 1, splits the loop in the same way: the iterations in
/// which it always holds get code without it. They may be in the middle, with code of its own for each edge.
///
/// If k is bound to a block axis, the whole thread block takes one side of an `if`, which tests whether the
/// tile of the block is full, and whether it is at no edge of a mask. If the nest has roles, the `if` stands in
/// each role, around the statements of the role that differ: a loop of it without guards is not copied.
///
/// Requires [partition.kind]: k is serial or bound to a block axis, and not yet partitioned. Thread axes are
///   excluded because all threads of a block execute the same code. Unrolled loops are excluded because their
///   body is already replicated.
/// Requires [partition.guarded]: a block below has a guard that depends on k, or a mask that compares indices
///   that depend on k, or k is pipelined in more than one stage.
/// Ensures: every iteration executes once, in the same order.
extern const Primitive partition;

} // namespace nestsmith::primitives
