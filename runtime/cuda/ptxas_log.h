#pragma once
/// Parses the output of ptxas for compiled kernels (`--ptxas-options=-v`).

#include "runtime/model/resources.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith::cuda {

/// The entry functions in the log, in order.
std::vector<std::string> entry_functions(std::string_view log);
/// The resources of one kernel; none if the log is incomplete.
std::optional<KernelResources> resources_of(std::string_view log, std::string_view kernel);

} // namespace nestsmith::cuda
