#pragma once
/// Proves the claims about a lowered kernel for every launch that it accepts. The known facts are the stated
/// and assumed sizes, the extents of indices, and the guards around a statement.

#include "lowering/plan.h"
#include "tests/proofs/proof.h"

namespace nestsmith::proofs {

Proof prove(const kernel::Kernel &kernel);
/// Proves the claim `dimensions` of a kernel before `flatten`.
Proof prove_dimensions(const kernel::Kernel &kernel);
Proof prove(const kernel::Plan &plan); ///< proves the other claims of all kernels

} // namespace nestsmith::proofs
