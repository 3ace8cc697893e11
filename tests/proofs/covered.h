#pragma once
/// Proves that the elements of caches are written before they are read, including the ends of tiles that
/// lowering has filled.

#include "dsl/ir/program.h"
#include "tests/proofs/proof.h"

namespace nestsmith::proofs {

/// Proves the claims `covered`. For each temporary that is not in global memory, every element that a block
/// reads must be written earlier by the first writer of the temporary, in the same iteration of the loops
/// around both blocks.
///
/// The *tile* of the writer is the set of elements that it writes in one such iteration. The prover computes
/// the tile by execution of the other loops of the writer, whose extents are constants. Z3 proves that the
/// writer writes its elements tile by tile, and that the reader stays in the tile.
Proof prove_covered(const Program &program);

} // namespace nestsmith::proofs
