#pragma once
/// Offsets of asynchronous copies that grow with a loop (the pass `step_sources`).

#include "lowering/kernel.h"

namespace nestsmith::kernel {

/// Whether the offsets of the kernel are taken apart: it has roles, and matrix units compute its sums. The
/// warps that copy then wait for addresses, while in a kernel of multiply-adds, whose warps need all issue
/// slots, the longer code costs more than it gains (docs/gpu.md).
bool steps_sources(const Kernel &kernel);

} // namespace nestsmith::kernel
