#pragma once
/// Proves that the warps of roles agree on the fills of their tiles (`Channel` of lowering/kernel.h).

#include "lowering/kernel.h"
#include "tests/proofs/proof.h"

namespace nestsmith::proofs {

/// Proves the claims `slots`, `bytes` and `boxes` of all channels of the kernel. The prover counts the events
/// of a channel on the two sides, for all sizes: an event is right if its number is the count of the events
/// before it. So a claim relies on no loop of one role that looks like one of the other role.
Proof prove_channels(const kernel::Kernel &kernel);

} // namespace nestsmith::proofs
