#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// reverse_compute_at(R, j): moves R to the end of the body of j. Each iteration of j then computes the
/// elements of R whose inputs the same iteration has produced.
///
///     for j: P: T[…] = …                        for j:
///     R: for all: C[…] = … T[…] …     =>          P: T[…] = …
///                                                 for ax0 < tile: …: R: C[…] = … T[…] …
///
/// Requires [reverse_compute_at.reads]: R reads a temporary that a block below j writes, and R is not below j.
/// Requires [reverse_compute_at.part]: R is no part of a block that `cut` took apart, unless
///   `axes_from_loops` gave it axes of its own.
/// Requires [reverse_compute_at.serial]: the loops of R are serial, because new loops replace them.
/// Requires [reverse_compute_at.complete]: every writer of this temporary is below j. Neither j nor a loop
///   outside of j is a reduction loop of a writer.
/// Requires [reverse_compute_at.identity]: the elements of R that read what one iteration of j produces are a
///   box of the axes of R. R may read the temporary at its own axes; as a slice, with a first index and a
///   stride; as a broadcast, which does not use all axes of R; or as another shape, with mixed-radix numbers of
///   axes or digits of axes as indices. The box contains all of each sum, or, after
///   `nondeterministic_atomics`, a part of it. If R has no sum, the box may be empty
///   in some iterations: R gets an axis whose guard excludes these, as for T[2*i] where one iteration produces
///   one element.
/// Requires [reverse_compute_at.partition]: different iterations of j, and of the loops outside of j, write
///   disjoint boxes of the temporary, so that R executes once for each element.
/// Requires [reverse_compute_at.covers]: the loops produce an element of the temporary for every element that R
///   computes, also where a mask of R excludes the read. If the init of R has loops of its own, they set all
///   elements of R.
/// Requires [reverse_compute_at.order]: each access of R to a parameter keeps its order relative to the
///   accesses of other blocks to the same element, if either of them writes.
/// Requires [reverse_compute_at.inputs]: if blocks below j write several temporaries that R reads, one
///   iteration of j produces all of them for the same box of R. Every other temporary that R reads is complete
///   before the nest of j.
/// Ensures: R computes every element once, from complete values.
extern const Primitive reverse_compute_at;

} // namespace nestsmith::primitives
