#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// compute_at(P, k): each iteration of k produces just what the readers below it need.
///
///     P: for all: T[…] = …                      for k:
///     for k: R: … T[…] …           =>             for ax0 < tile: for ax1 < tile: P: T[…] = …
///                                                 R: … T[…] …
///
/// The loops of P are made anew over the box that the readers below k touch, with constant extents; what
/// of it lies past the shape is clipped by a guard. For a shared temporary the box holds what all threads
/// touch, for a global one what all blocks and threads touch.
///
/// Requires [compute_at.temporary]: P writes a temporary.
/// Requires [compute_at.whole]: P is the temporary's only writer: its reduction is not decomposed.
/// Requires [compute_at.encloses]: every reader is below k, and P is not.
/// Requires [compute_at.serial]: the loops of P are serial; they are made anew, and a binding would be lost.
/// Requires [compute_at.inputs]: what P reads is complete before k.
/// Requires [compute_at.pieces]: of a temporary that is made piece by piece, P would read no more than
///   the piece that is there: a split may have given a reader iterations past the end of an axis, in which
///   it does nothing, but for which P would be computed.
/// Ensures: every element that is read has been computed, in the same iteration of k.
void compute_at(Schedule &schedule, BlockRef producer, Loop loop);

} // namespace nestsmith::primitives
