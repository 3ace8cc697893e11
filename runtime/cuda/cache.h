#pragma once
/// Compiled kernels on disk, shared by processes: an entry appears whole or not at all
/// (runtime/cuda/whole_file.h), and one that is damaged counts as missing.

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

class KernelCache {
public:
  /// Where it lives: NESTSMITH_CACHE, else XDG_CACHE_HOME/nestsmith, else HOME/.cache/nestsmith; empty
  /// where none of these is set.
  static std::filesystem::path standard_directory();
  /// The one in the standard directory.
  static KernelCache &standard();

  /// An empty directory means no cache. The directory is made on the first `put`.
  explicit KernelCache(std::filesystem::path directory);

  /// A name for all that the result depends on: SHA-256 over the parts and their lengths.
  static std::string key(const std::vector<std::string> &parts);

  std::optional<std::string> get(const std::string &key) const;
  /// Replaces an entry. Where it cannot be written, nothing happens but the note.
  void put(const std::string &key, std::string_view payload);

  const std::filesystem::path &directory() const { return directory_; }
  /// Why the cache does not keep what it is given; empty while it does.
  std::string note() const;
  /// The reason why an entry cannot be written now, empty where it can. Leaves no file behind.
  std::string why_not_writable() const;

private:
  std::filesystem::path file(const std::string &key) const;

  std::filesystem::path directory_;
  mutable std::mutex mutex_;
  std::string note_;
};

} // namespace nestsmith
