#pragma once
/// Kernels that share a launch.

#include "lowering/kernel.h"

namespace nestsmith::kernel {

/// One kernel, whose first thread blocks are those of `first`. Both are flat (`Form::flat` of
/// lowering/passes.h), with the same threads on each axis, the same roles, and grids of constant extents. With
/// roles and without calls of matrix units, it shares their code (lowering/share_code.h).
Kernel in_one_launch(Kernel first, const Kernel &second);

} // namespace nestsmith::kernel
