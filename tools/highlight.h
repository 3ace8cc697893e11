#pragma once
/// Colours for the printed IR, the printed kernel and directives.

#include "tools/terminal.h"

#include <string>
#include <string_view>

namespace nestsmith::cli {

/// Keywords in blue, hardware axes and scopes in cyan, numbers plain, comments and notes dim. The text
/// itself stays as it is.
std::string highlight(std::string_view text, const Style &style);

} // namespace nestsmith::cli
