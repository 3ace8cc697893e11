#pragma once
/// Lowering: translates a scheduled program to a launch plan.

#include "dsl/schedule.h"
#include "lowering/plan.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// The output of a pass as text, for `show --lowered` and for tests.
struct PassRecord {
  std::string_view pass;
  std::string text; ///< the nests as programs or as kernels
  bool changed;
};

/// The names of the passes, in execution order.
std::vector<std::string_view> pass_names();

/// Lowers each top-level nest of the program to a kernel. Global temporaries become workspaces. The verifier of
/// the stage runs after each pass; a breach is an internal error. Throws ScheduleError for an open obligation,
/// with the directive that caused it. Calls `observe`, if given, after each pass.
kernel::Plan lower(const Schedule &schedule, const std::function<void(const PassRecord &)> &observe = {});

} // namespace nestsmith
