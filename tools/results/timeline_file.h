#pragma once
/// The time line of the estimate as a Chrome trace, which Perfetto (ui.perfetto.dev) and chrome://tracing open.

#include "runtime/model/analysis.h"
#include "runtime/model/timeline.h"

#include <string>

namespace nestsmith::cli {

/// The time line of the slowest kernel. The kernel is compiled again with a line table, which names the line of
/// each instruction, if this does not change its machine code. `plan` is the plan of the analysis.
model::Timeline timeline_of(const PlanAnalysis &analysis, const kernel::Plan &plan);

/// A clock of the SM is shown as 1 us. `title` names the rung.
std::string chrome_trace(const model::Timeline &timeline, const PlanAnalysis &analysis,
                         const std::string &title);

/// A sentence: the part of the kernel that the file contains.
std::string summary(const model::Timeline &timeline);

} // namespace nestsmith::cli
