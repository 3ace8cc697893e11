#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// reorder({k, i}): permutes loops of a nest. The list gives the new order, outermost first. The listed loops
/// occupy the same positions in the nest as before.
///
///     for i: for j: for k: S     =>     for k: for j: for i: S
///
/// Requires [reorder.distinct]: the list names two or more distinct loops.
/// Requires [reorder.chain]: the loops are in one nest, and no other statement is between them. A statement
///   between the loops (an init, a copy of a tile) would have another meaning in another order of the loops.
/// Requires [reorder.init]: if the init of a reduction is not decomposed, and one digit in the binding of its
///   axis uses several loops, these loops keep their order. Such a digit can exist if the reduction loop was
///   fused with a loop of another axis, and the result was split.
/// Requires [reorder.repeated]: if the init of a reduction is not decomposed, a loop that repeats the block
///   keeps its order relative to the reduction loops. A loop repeats the block if `compute_at` placed the block
///   inside the loop and no binding of the block uses the loop variable.
/// Requires [reorder.order]: if two blocks inside of the loops access the same element of a parameter, and one
///   of them writes it, the accesses keep their order. Two loops can change places if both accesses are always
///   in the same iteration of one of them, or if the first access is never in a later iteration of either.
/// Ensures: every iteration executes once; the order of a summation may change.
extern const Primitive reorder;

} // namespace nestsmith::primitives
