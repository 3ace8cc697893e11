#pragma once
/// Atomic file output: a file is written completely or not at all.

#include <string>
#include <string_view>
#include <vector>

namespace nestsmith::cli {

/// Writes `text` to `path` as described in runtime/cuda/whole_file.h; a symbolic link is followed. A path that
/// is not a regular file (/dev/null, a pipe) is written in place. On failure, throws UserError (usage) and
/// leaves a regular file unchanged.
void write_file(const std::string &path, std::string_view text);

/// Throws the same error before a long run if the folder of the file does not exist, or if the file or the
/// folder is not writable.
void check_writable(const std::string &path);

struct OutputFile {
  std::string path;
  std::string_view text;
};
/// Writes all files or none. Each must be a regular file.
void write_files(const std::vector<OutputFile> &files);

/// Whether two paths refer to the same file, which need not exist: by different spelling, symbolic link or hard
/// link.
bool is_same_file(const std::string &a, const std::string &b);

} // namespace nestsmith::cli
