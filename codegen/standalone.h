#pragma once
/// A .cu with its own `main`: fills random inputs, runs the kernels, checks every element, times it.

#include "codegen/emit.h"
#include "dsl/program.h"

#include <string>

namespace nestsmith {

/// The file of `emit`, and below it the computation by plain loops and a `main`. `source` is the program
/// without a schedule (Schedule::source()), of which `plan` is a schedule. It needs nvcc alone. The
/// program exits with 0 where the result is good, 1 where it is wrong and 4 without a usable device.
/// Throws UserError (usage) where the program has operations whose float error has no bound.
std::string emit_standalone(const EmitInfo &info, const kernel::Plan &plan, const Program &source);

} // namespace nestsmith
