#pragma once
/// Colours for the printed IR, the printed kernel, directives and CUDA C.

#include "tools/terminal.h"

#include <string>
#include <string_view>

namespace nestsmith::cli {

/// Keywords in blue, hardware axes and scopes in cyan, numbers plain, comments and notes dim. The text
/// itself stays as it is.
std::string highlight(std::string_view text, const Style &style);
/// The same for CUDA C, where preprocessor lines are cyan.
std::string highlight_cuda(std::string_view text, const Style &style);

} // namespace nestsmith::cli
