#pragma once
/// Colours for the printed IR, printed kernels, directives and CUDA C.

#include "tools/output/terminal.h"

#include <string>
#include <string_view>

namespace nestsmith::cli {

/// Keywords in blue, hardware axes and scopes in cyan, numbers plain, comments and notes dim. Adds colour codes
/// only.
std::string highlight(std::string_view text, const Style &style);
/// The same for CUDA C, with preprocessor lines in cyan.
std::string highlight_cuda(std::string_view text, const Style &style);

} // namespace nestsmith::cli
