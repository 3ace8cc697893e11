#pragma once
/// Kernels between two passes, made runnable (runtime/check/blame.h says by what, and why that is sound).

#include "lowering/kernel.h"
#include "lowering/passes.h"

namespace nestsmith {

/// The kernel for the simulator, when its form is not `program`.
kernel::Kernel runnable(const kernel::Kernel &kernel, Form form);

} // namespace nestsmith
