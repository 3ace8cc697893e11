#pragma once
/// Calls of intrinsics that a whole warp executes.

#include "lowering/kernel.h"

namespace nestsmith::kernel {

/// The call that replaces a loop tensorized with an intrinsic of a warp. The kernel must have flat offsets; its
/// arrays get the alignment that the call needs. `bounds` has the ranges of the variables around the loop.
Stmt warp_call(Kernel &kernel, const Loop &loop, Bounds bounds);

} // namespace nestsmith::kernel
