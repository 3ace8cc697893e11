#pragma once
/// What a lowered kernel must be at every launch that it serves, proved from what stands in it: sizes as stated
/// and assumed, indices below their extents, the guards around a statement.

#include "lowering/plan.h"
#include "tests/proofs/proof.h"

namespace nestsmith::proofs {

Proof prove(const kernel::Kernel &kernel);
/// The claim `dimensions`, of a kernel that is not flat yet.
Proof prove_dimensions(const kernel::Kernel &kernel);
Proof prove(const kernel::Plan &plan); ///< all of its kernels

} // namespace nestsmith::proofs
