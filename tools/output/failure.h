#pragma once
/// A UserError as a value: a command can print the error, and a climb can continue with the next rung.

#include "dsl/expr/error.h"

#include <functional>
#include <memory>
#include <string>

namespace nestsmith::cli {

/// The reason why there is no result: the schedule was refused, or the launch failed.
struct Failure {
  std::string message, details; ///< `details` is the marked IR, or empty
  std::string requirement;      ///< the tag of the broken requirement, such as split.tail, or empty
  ExitCode code = ExitCode::good;
  std::string directive = {}; ///< that was refused, or empty; then `message` is "directive: reason"
  std::shared_ptr<const Schedule> schedule = {}; ///< that refused it, with all directives before; or null
};

/// Calls `f`. If `f` throws UserError, or if there is not enough memory, returns the failure. Otherwise returns
/// a failure with the code `good`.
Failure failure_of(const std::function<void()> &f);

} // namespace nestsmith::cli
