#pragma once
/// The kernel tables of schedules/kernels, which are embedded in the program.

#include <string>
#include <vector>

namespace nestsmith {

/// The texts of the tables of a rung, one for each GPU and dtype.
std::vector<std::string> kernel_tables(const std::string &rung);

} // namespace nestsmith
