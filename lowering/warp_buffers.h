#pragma once
/// Shared buffers that no two warps share, so that barriers of the warps are enough for them.

#include "lowering/kernel.h"

#include <set>

namespace nestsmith::kernel {

/// The shared buffers of which each element is accessed by the threads of one warp only. For such a buffer, the
/// indices of all accesses have equal digits that identify the warp, as `warp` in the row `warp*16 + lane//2`.
/// None, if the block is one warp: barriers of the block are as fast there, and ptxas keeps fewer values in
/// registers across `__syncwarp()`. The kernel has several indices for each access.
std::set<Buffer> buffers_of_single_warps(const Kernel &kernel);

} // namespace nestsmith::kernel
