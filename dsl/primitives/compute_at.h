#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// compute_at(P, k): each iteration of k computes exactly the elements that the readers below it need.
///
///     P: for all: T[…] = …                      for k:
///     for k: R: … T[…] …           =>             for ax0 < tile: for ax1 < tile: P: T[…] = …
///                                                 R: … T[…] …
///
/// New loops with constant extents, over the box that the readers below k access, replace the loops of P. A
/// guard clips the part of the box that lies past the shape. For a shared temporary the box covers the accesses
/// of all threads; for a global one, those of all blocks and threads.
///
/// Requires [compute_at.temporary]: P writes a temporary.
/// Requires [compute_at.whole]: P is the temporary's only writer; its reduction is not decomposed.
/// Requires [compute_at.read]: at least one block reads the temporary.
/// Requires [compute_at.encloses]: every reader is below k, and P is not.
/// Requires [compute_at.serial]: the loops of P are serial; replacing them would lose a binding.
/// Requires [compute_at.inputs]: the inputs of P are complete before k.
/// Requires [compute_at.pieces]: if a temporary that P reads is computed piece by piece, P reads only the piece
///   that exists at its new place. A split can give a reader iterations past the end of an axis. The reader is
///   guarded in them, but P would be computed for them.
/// Requires [compute_at.order]: each access of P to a parameter keeps its order relative to the writes of other
///   blocks to the same element.
/// Requires [compute_at.steps]: a sum that begins within its axis, as after rfactor, runs in even steps.
/// Ensures: every element that is read has been computed in the same iteration of k.
void compute_at(Schedule &schedule, BlockRef producer, Loop loop);

} // namespace nestsmith::primitives
