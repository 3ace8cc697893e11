#pragma once
/// From a scheduled program to a launch plan.

#include "dsl/schedule.h"
#include "lowering/plan.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// What a pass made, as text, for `show --lowered` and for tests.
struct PassRecord {
  std::string_view pass;
  std::string text; ///< the nests as programs, or the kernels, after it
  bool changed;
};

/// The names of the passes in their order.
std::vector<std::string_view> pass_names();

/// Lowers each top-level nest of the program to a kernel; global temporaries become workspaces. Each pass
/// is followed by the verifier of its stage. Throws ScheduleError where an obligation is open, blaming the
/// directive that owes it. `observe`, where given, sees every pass.
kernel::Plan lower(const Schedule &schedule, const std::function<void(const PassRecord &)> &observe = {});

} // namespace nestsmith
