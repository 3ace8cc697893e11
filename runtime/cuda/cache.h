#pragma once
/// A cache on disk, shared by the processes of one user: of compiled kernels, and of the results that `report`
/// reuses. Entries are written atomically (runtime/cuda/whole_file.h), and a damaged entry counts as missing.
///
/// An entry is code that will be executed, or a verdict that will be shown. So the folder is created with the
/// mode 0700. A folder that belongs to another user, or to which others can write, is neither read nor written.

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

class DiskCache {
public:
  /// The first of these whose environment variable is set: NESTSMITH_CACHE, XDG_CACHE_HOME/nestsmith,
  /// HOME/.cache/nestsmith. Empty if none is set.
  static std::filesystem::path standard_directory();
  /// The cache of kernels in the standard directory.
  static DiskCache &standard();

  /// An empty directory disables the cache. The first `put` creates the directory. `kind` is the suffix of the
  /// files, and part of their first line.
  explicit DiskCache(std::filesystem::path directory, std::string kind = "kernel");

  /// The key of an entry: SHA-256 over the parts and their lengths. The payload must depend on nothing except
  /// these parts.
  static std::string key(const std::vector<std::string> &parts);

  std::optional<std::string> get(const std::string &key) const;
  /// Adds or replaces an entry. If the entry cannot be written, sets `note` and reports no error.
  void put(const std::string &key, std::string_view payload);

  const std::filesystem::path &directory() const { return directory_; }
  /// The reason why the cache does not store entries. Empty if it stores them.
  std::string note() const;
  /// The reason why the folder is not used, if it exists: it belongs to others, or others can write to it.
  /// Otherwise empty.
  std::string why_not_own() const;
  /// The first folder that a cache of this process did not use for that reason, as a sentence for the user.
  /// Empty if there is none.
  static std::string refused();
  /// The reason why entries cannot be written now. Empty if they can be written. The function leaves no file
  /// behind.
  std::string why_not_writable() const;

private:
  /// The opened folder of entries, or -1 with the reason in `errno`. EPERM: refused, and `note_` says why.
  int open_own() const;
  void set_note(const std::string &note) const;

  std::filesystem::path directory_;
  std::string kind_;
  mutable std::mutex mutex_;
  mutable std::string note_;
};

} // namespace nestsmith
