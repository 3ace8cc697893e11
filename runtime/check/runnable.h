#pragma once
/// Makes kernels between two passes runnable (runtime/check/blame.h explains how, and why this is sound).

#include "lowering/kernel.h"
#include "lowering/passes.h"

namespace nestsmith {

/// The kernel in a form that the simulator executes. `form` must not be `program`.
kernel::Kernel runnable(const kernel::Kernel &kernel, Form form);

} // namespace nestsmith
