#pragma once
/// Lines of the user's source.

#include <source_location>

namespace nestsmith {

/// The line of a source file that states a directive or a stage; line 0: unknown. A parameter
/// `Where where = Where::current()` is the line of the call.
using Where = std::source_location;

} // namespace nestsmith
