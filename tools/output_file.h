#pragma once
/// Files that appear whole or not at all.

#include <string>
#include <string_view>
#include <vector>

namespace nestsmith::cli {

/// Puts the text at `path` as runtime/cuda/whole_file.h does, through a symbolic link. What is no regular file
/// (/dev/null, a pipe) is written in place. Throws UserError (usage), and leaves nothing, where that fails.
void write_file(const std::string &path, std::string_view text);

struct OutputFile {
  std::string path;
  std::string_view text;
};
/// The same for files that belong together: all of them or none. Each must be a regular file.
void write_files(const std::vector<OutputFile> &files);

/// Whether two paths name one file, be it there or not: by another spelling, a symbolic link or a hard one.
bool is_same_file(const std::string &a, const std::string &b);

} // namespace nestsmith::cli
