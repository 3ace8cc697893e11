#pragma once
#include "dsl/schedule.h"

namespace nestsmith::primitives {

/// reverse_compute_at(R, j): each iteration of j is followed by the part of R that it makes possible.
///
///     for j: P: T[…] = …                        for j:
///     R: for all: C[…] = … T[…] …     =>          P: T[…] = …
///                                                 for ax0 < tile: …: R: C[…] = … T[…] …
///
/// Requires [reverse_compute_at.reads]: R reads a temporary that is written below j, and R is not below j.
/// Requires [reverse_compute_at.serial]: the loops of R are serial; they are made anew.
/// Requires [reverse_compute_at.complete]: every writer of that temporary is below j, and no loop from j
///   outwards is summed over.
/// Requires [reverse_compute_at.identity]: R has no reduction and reads the temporary at its own axes.
/// Requires [reverse_compute_at.partition]: the iterations from j outwards make disjoint boxes, so that R
///   runs once for each element.
/// Requires [reverse_compute_at.inputs]: every other temporary that R reads is complete before j.
/// Ensures: R computes every element once, from complete values.
void reverse_compute_at(Schedule &schedule, BlockRef consumer, Loop loop);

} // namespace nestsmith::primitives
