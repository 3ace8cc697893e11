#pragma once
/// A .cu file with its own `main`, which fills random inputs, runs the kernels, checks every element and
/// measures the time.

#include "codegen/emit.h"
#include "dsl/ir/program.h"

#include <string>

namespace nestsmith {

/// The file of `emit`, followed by the computation as plain loops and a `main`. `source` is the unscheduled
/// program (Schedule::source()) of `plan`. The file compiles with nvcc alone. The program exits with 0 if the
/// result is correct, 1 if it is wrong, and 4 without a usable device. Throws UserError (usage) if the program
/// has a floating-point operation for which no error bound is known.
std::string emit_standalone(const EmitInfo &info, const kernel::Plan &plan, const Program &source);

} // namespace nestsmith
