#pragma once
/// Files that appear whole or not at all, whatever becomes of this process or of the disk.

#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

namespace nestsmith {

/// Puts `data` at `path`, in place of the file that is there. Gives 0, or the `errno` of what failed: then
/// `path` is as it was, and nothing is left beside it. Others see the old file or the new one, never a part.
///
/// A process that is killed on the way leaves nothing where the file system has files without a name (ext4,
/// xfs, btrfs, tmpfs), and elsewhere a file `.NAME.PID.N.tmp`.
int write_whole(const std::filesystem::path &path, std::string_view data);

struct FileToWrite {
  std::filesystem::path path;
  std::string_view data;
};
struct NotWritten {
  std::filesystem::path path; ///< of the file that failed
  int error;                  ///< its `errno`
};
/// All of them, or none: where one fails, every path is as it was. They are written before the first one takes
/// its place, so that a full disk or a folder that is missing changes nothing.
std::optional<NotWritten> write_whole(std::span<const FileToWrite> files);

} // namespace nestsmith
