#pragma once
/// The files page.css and page.js as text. CMake embeds them (tools/CMakeLists.txt).

#include <string_view>

namespace nestsmith::cli::report {

extern const std::string_view page_css, page_js;

} // namespace nestsmith::cli::report
