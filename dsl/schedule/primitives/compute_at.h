#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// compute_at(P, k): moves the block P, which writes the temporary T, into the loop k. Each iteration of k then
/// computes the box of T that the readers below k access.
///
///     P: for all: T[…] = …                      for k:
///     for k: R: … T[…] …           =>             for ax0 < tile: for ax1 < tile: P: T[…] = …
///                                                 R: … T[…] …
///
/// New loops with constant extents replace the loops of P. They cover the box of T that the readers below k
/// access. The guards and masks of the readers and the end of T end the box. Only tiles of contractions, of
/// vectorized loops and of fragments are whole (dsl/ir/whole_tiles.h). If the box can extend past the shape of
/// T, a guard excludes the elements outside of the shape. For a temporary in shared or global memory, the box
/// covers the accesses of all threads of a block.
///
/// Requires [compute_at.temporary]: P writes a temporary.
/// Requires [compute_at.whole]: P is the only block that writes the temporary. In particular, the reduction of
///   P is not decomposed.
/// Requires [compute_at.index]: each spatial axis of P is, by itself, an index of the store to the temporary.
/// Requires [compute_at.read]: at least one block reads the temporary.
/// Requires [compute_at.encloses]: every reader is below k, and P is not below k.
/// Requires [compute_at.serial]: the loops of P are serial, because the directive replaces them and would lose
///   a binding to an axis.
/// Requires [compute_at.inputs]: the inputs of P are complete before the first iteration of k.
/// Requires [compute_at.pieces]: if `compute_at` has already moved the producer of an input of P into a loop,
///   each iteration of this loop computes only a part of the input, and P must read only this part. P can read
///   more than its readers need: after a split, a guard stops the readers at the end of their axis, but P has
///   no such guard.
/// Requires [compute_at.order]: each access of P to a parameter keeps its order relative to the writes of other
///   blocks to the same element.
/// Requires [compute_at.steps]: if a reduction axis of P has a start value (after `rfactor`), the loops of P
///   cover the axis from this value on with a constant stride.
/// Ensures: for every element that a reader reads, P has computed the element in the same iteration of k.
extern const Primitive compute_at;

} // namespace nestsmith::primitives
