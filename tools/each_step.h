#pragma once
/// `check --each-step`: which directive or pass changed the result (runtime/check/blame.h)?

#include "lowering/passes.h"
#include "tools/rung_choice.h"

#include <vector>

namespace nestsmith::cli {

/// Prints what came of each shape and dtype, and the fault with a trace that shows it again. `passes` are those
/// of lowering.
ExitCode check_each_step(const Context &context, const Choice &choice,
                         const std::vector<Pass> &passes = standard_passes());

} // namespace nestsmith::cli
