#pragma once
/// Files that appear whole or not at all.

#include <string>
#include <string_view>

namespace nestsmith::cli {

/// Puts the text at `path` as runtime/whole_file.h does, through a symbolic link. What is no regular file
/// (/dev/null, a pipe) is written in place. Throws UserError (usage), and leaves nothing, where that fails.
void write_file(const std::string &path, std::string_view text);

} // namespace nestsmith::cli
