#pragma once
/// The steps of a schedule: the program after each directive, and its kernels when no obligation is open.

#include "dsl/schedule/schedule.h"
#include "tools/output/failure.h"
#include "tools/pages/links.h"

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
  /// The directive was refused for the reason `refusal`. `program` is the one before it, with marks below the
  /// lines that cause the refusal.
  bool refused = false;
};

/// The computation, and a step for each directive.
std::vector<Step> steps_of(const Schedule &schedule);
/// The same for a schedule that refused a directive, and a step for this directive. Empty if the failure has
/// another reason.
std::vector<Step> steps_of(const Failure &failure);

} // namespace nestsmith::cli::report
