#pragma once
/// A user error as a value. Commands print it, and a climb continues after it.

#include "dsl/error.h"

#include <functional>
#include <string>

namespace nestsmith::cli {

/// The reason why there is no result: the schedule was refused, or the launch failed.
struct Failure {
  std::string message, details; ///< `details` is the marked IR, or empty
  std::string requirement;      ///< the tag of the broken requirement, such as split.tail, or empty
  ExitCode code = ExitCode::good;
};

/// Calls `f`. Turns a UserError, or a lack of memory, into a failure; its code is `good` if `f` throws neither.
Failure failure_of(const std::function<void()> &f);

} // namespace nestsmith::cli
