#pragma once
/// Names that the libraries of every program define.

#include <string_view>

namespace nestsmith {

/// Whether a function of the C library, of POSIX or of CUDA has this name, in any of its floating types.
bool is_library_function(std::string_view name);

} // namespace nestsmith
