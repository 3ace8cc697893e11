#pragma once
/// Calls of intrinsics that a whole warp executes.

#include "lowering/kernel.h"

namespace nestsmith::kernel {

/// Replaces each loop that is tensorized with an intrinsic of a warp by a call. The kernel must have flat
/// offsets. Its arrays get the alignment that the calls need.
void make_warp_calls(Kernel &kernel);

} // namespace nestsmith::kernel
