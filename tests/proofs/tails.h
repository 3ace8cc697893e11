#pragma once
/// That a guard may go since caches are filled to the end of their tiles (dsl/ir/fill_tails.h), proved of each
/// program from the program itself: nothing of how the pass decides is used.

#include "dsl/ir/program.h"
#include "tests/proofs/proof.h"

namespace nestsmith::proofs {

/// `after` is what the pass made of `before`: guards fewer, masks more, temporaries larger, and nothing else.
/// An element *counts* where it stood before: within the shape that its buffer had.
///
/// By induction over the order of execution every element that counts holds what it held, and of the buffers
/// in `zero` every other element that was written holds 0:
///   - where all guards of `before` hold, a block reads elements that count alone, and its new mask is true;
///   - where a guard of `before` on a spatial axis does not hold, the block writes no element that counts;
///   - where one on a reduction axis does not hold, each factor of what is added is an element of a buffer in
///     `zero` that does not count;
///   - what is written to an element of a buffer in `zero` that does not count is 0: the mask is false there,
///     or it is a copy of such an element.
/// These are the claims `tails`. What is read there was written: tests/proofs/covered.h.
Proof prove_tails(const Program &before, const Program &after);

} // namespace nestsmith::proofs
