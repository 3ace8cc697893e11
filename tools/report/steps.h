#pragma once
/// The steps of a schedule: the program after each directive, and its kernels when no obligation is open.

#include "dsl/schedule.h"
#include "tools/report/links.h"

#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cli::report {

struct Step {
  std::string directive; ///< as C++; empty for the computation
  LinkedText program;
  std::vector<Obligation> owed;
  /// Empty while obligations are open, and if lowering refuses the program; then `refusal` has the reason.
  LinkedText kernels, cuda;
  std::string refusal = {};
};

/// The computation, and a step for each directive.
std::vector<Step> steps_of(const Schedule &schedule);

} // namespace nestsmith::cli::report
