#pragma once
/// What ptxas says of the kernels that it compiled (`--ptxas-options=-v`).

#include "runtime/model/resources.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith::cuda {

/// The entry functions of a log, in its order.
std::vector<std::string> entry_functions(std::string_view log);
/// What the log says of one of them; nothing where it says too little.
std::optional<KernelResources> resources_of(std::string_view log, std::string_view kernel);

} // namespace nestsmith::cuda
