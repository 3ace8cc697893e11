#pragma once
/// Lowering: translates a scheduled program to a launch plan.

#include "dsl/schedule/schedule.h"
#include "lowering/plan.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// The output of a pass as text, for `show --lowered` and for tests.
struct PassRecord {
  std::string_view pass;
  std::string text; ///< all nests, as programs before `extract` and as kernels after it
  bool changed;     ///< whether the pass changed the text
};

/// The names of the passes, in execution order.
std::vector<std::string_view> pass_names();

/// Lowers each top-level nest of the program to a kernel. Global temporaries become workspaces. After each
/// pass, a verifier checks the program or the kernel; an error that it finds is an internal error. If an
/// obligation is open, throws ScheduleError with the directive that caused the obligation. Calls `observe`, if
/// it is not empty, after each pass.
kernel::Plan lower(const Schedule &schedule, const std::function<void(const PassRecord &)> &observe = {});

} // namespace nestsmith
