#pragma once
/// Names that the libraries of every program define.

#include <string_view>

namespace nestsmith {

/// Whether the C library, POSIX or CUDA has a function of this name, in any of its floating-point variants.
bool is_library_function(std::string_view name);

} // namespace nestsmith
