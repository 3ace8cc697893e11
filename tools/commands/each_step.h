#pragma once
/// `check --each-step`: finds the directive or pass that changed the result (runtime/check/blame.h).

#include "lowering/passes.h"
#include "tools/options/scheduled.h"

#include <vector>

namespace nestsmith::cli {

/// Prints the result for each shape and dtype. If a result is wrong, also prints a trace that reproduces it.
/// `passes` are the passes of lowering.
ExitCode check_each_step(const Context &context, const ChosenRung &choice,
                         const std::vector<Pass> &passes = standard_passes());

} // namespace nestsmith::cli
