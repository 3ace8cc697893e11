#pragma once
/// The kernel tables of schedules/kernels, which are embedded in the program.

#include <string>
#include <vector>

namespace nestsmith {

/// Their texts, as `tune --table` wrote them.
const std::vector<std::string> &kernel_tables();

} // namespace nestsmith
