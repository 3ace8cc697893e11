#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// fission(k): gives each statement in the body of k a loop of its own, as LLVM's loop distribution does. It is
/// the inverse of `reverse_compute_at` for a whole loop.
///
///     for k < n:              for k < n: S
///       S              =>     for k_T < n: T
///       T
///
/// The first statement keeps the loop. The loop of another one has the name of its first block: k_T. The
/// handles are those of the loops, in the order of the statements. A loop without a loop around it is a nest of
/// its own, and so a kernel.
///
/// After `reverse_compute_at(C, i)` and `cut(i, {p})`, each part of i has blocks and temporaries of its own.
/// `fission` makes nests of them, so that each part of a computation gets a schedule of its own.
///
/// Requires [fission.serial]: k is a serial loop.
/// Requires [fission.several]: the body of k has two statements or more, and at most 16.
/// Requires [fission.place]: no loop around k is pipelined, because its stages name the blocks below it. No
///   statement follows a loop of which the last block executes it, and k is in no such statement.
/// Requires [fission.order]: what a statement accesses in an iteration of k, the statements after it access in
///   the same iteration or in a later one, if one of the two writes it.
/// Ensures: every instance executes once, and each element is accessed in the same order.
extern const Primitive fission;

} // namespace nestsmith::primitives
