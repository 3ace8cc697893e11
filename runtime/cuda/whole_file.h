#pragma once
/// Atomic file output: a file is replaced completely or not at all, even if the process is killed or the disk
/// is full.

#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <sys/types.h>

namespace nestsmith {

/// Replaces the file at `path` by `data`. Returns 0, or the `errno` of the failed call. After a failure `path`
/// is unchanged and no other file remains. Readers see the old or the new content, never a part.
///
/// If the process is killed during the call, a temporary file `.NAME.PID.N.tmp` can remain. On file systems
/// that support unnamed files (ext4, xfs, btrfs, tmpfs), no file remains.
///
/// An existing file keeps its permissions and its group. A new file has `mode` without the bits of the umask.
int write_whole(const std::filesystem::path &path, std::string_view data, mode_t mode = 0666);

struct FileToWrite {
  std::filesystem::path path;
  std::string_view data;
};
struct NotWritten {
  std::filesystem::path path; ///< the file that could not be written
  int error;                  ///< the `errno` of the failed call
};
/// Writes all files or none. All data are written before the first file is replaced, so that a full disk or a
/// missing folder changes nothing. Returns the first failure, or none.
std::optional<NotWritten> write_whole(std::span<const FileToWrite> files);

} // namespace nestsmith
