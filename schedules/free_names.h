#pragma once
/// Names for what the schedule of any computation makes. The computation may already have these names.

#include "dsl/schedule/schedule.h"

#include <string>
#include <vector>

namespace nestsmith {

/// As `named`, but a name that a loop, a block or a buffer has gets a number.
Caller free_names(const Schedule &s, const std::vector<std::string> &wanted, Where line = Where::current());

} // namespace nestsmith
