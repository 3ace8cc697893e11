#pragma once
/// That what is read of a cache was written: to the end of its tiles, where lowering has filled them.

#include "dsl/ir/program.h"
#include "tests/proofs/proof.h"

namespace nestsmith::proofs {

/// Of each temporary but those in global memory: every element that a block reads was written by the first
/// writer of the temporary, which stands before it, in the same iteration of the loops around both. These are
/// the claims `covered`.
///
/// What the writer covers from where it stands in those loops, its tile, is found by running its other loops,
/// whose extents are constants. That it writes tile by tile, and that the reader stays in the tile, is asked of
/// Z3.
Proof prove_covered(const Program &program);

} // namespace nestsmith::proofs
