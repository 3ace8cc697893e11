#pragma once
/// Proves for each program that guards may be removed after caches are filled to the end of their tiles
/// (dsl/ir/fill_tails.h). The proof uses only the programs, and not how the pass decides.

#include "dsl/ir/program.h"
#include "tests/proofs/proof.h"

namespace nestsmith::proofs {

/// `after` is the result of the pass for `before`: it may have fewer guards, more masks and larger temporaries,
/// and must otherwise be equal. An element *counts* if it is within the shape that its buffer has in `before`.
///
/// The proof is an induction over the order of execution. It proves that every element that counts keeps its
/// value, and that all other written elements of the buffers in `filled` have the value of the buffer:
///   - if all guards of `before` hold, a block reads only elements that count, or whose mask is false, and its
///     new mask is true;
///   - if a guard of `before` on a spatial axis does not hold, the block writes no element that counts;
///   - if a guard on a reduction axis does not hold, each factor of the term is an element of a buffer in
///     `filled` that does not count, and with its value the term is the identity of the reducer: 0 for a sum, 1
///     for a product, -infinity for a maximum;
///   - a value that is written to an element of a buffer in `filled` that does not count is that of the buffer:
///     the mask is false and the fill is the value, or it is copied from such an element.
///
/// These are the claims `tails`. tests/proofs/covered.h proves that the elements are written before they are
/// read.
Proof prove_tails(const Program &before, const Program &after);

} // namespace nestsmith::proofs
