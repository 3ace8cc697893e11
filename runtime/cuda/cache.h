#pragma once
/// A cache of compiled kernels on disk, shared by processes. Entries are written atomically
/// (runtime/cuda/whole_file.h), and a damaged entry counts as missing.

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

class KernelCache {
public:
  /// NESTSMITH_CACHE, else XDG_CACHE_HOME/nestsmith, else HOME/.cache/nestsmith; empty if none of them is set.
  static std::filesystem::path standard_directory();
  /// The cache in the standard directory.
  static KernelCache &standard();

  /// An empty directory disables the cache. The first `put` creates the directory.
  explicit KernelCache(std::filesystem::path directory);

  /// The key of an entry: SHA-256 over the parts and their lengths. The parts must include everything that the
  /// result depends on.
  static std::string key(const std::vector<std::string> &parts);

  std::optional<std::string> get(const std::string &key) const;
  /// Adds or replaces an entry. A failure to write only sets `note`.
  void put(const std::string &key, std::string_view payload);

  const std::filesystem::path &directory() const { return directory_; }
  /// The reason why the cache does not store entries; empty while it does.
  std::string note() const;
  /// The reason why entries cannot be written at present; empty if they can. Leaves no file behind.
  std::string why_not_writable() const;

private:
  std::filesystem::path file(const std::string &key) const;

  std::filesystem::path directory_;
  mutable std::mutex mutex_;
  std::string note_;
};

} // namespace nestsmith
