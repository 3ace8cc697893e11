#include "runtime/cuda/cache.h"

#include "runtime/cuda/whole_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SHA256.h>

namespace fs = std::filesystem;

namespace nestsmith {
namespace {

/// The first line of an entry. The SHA-256 of the payload, a newline and the payload follow.
std::string header_of(const std::string &kind) { return fmt::format("nestsmith {} 1\n", kind); }
constexpr std::size_t digest_length = 64;

std::string sha256(std::string_view data) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(data.data(), data.size()));
  auto digest = hash.final(); // a StringRef up to LLVM 14, an array from 15 on
  return llvm::toHex(llvm::StringRef(reinterpret_cast<const char *>(digest.data()), digest.size()), true);
}

std::string reason(int error) { return std::strerror(error); }

} // namespace

fs::path DiskCache::standard_directory() {
  auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return fs::path(value ? value : "");
  };
  if (fs::path own = variable("NESTSMITH_CACHE"); !own.empty())
    return own;
  if (fs::path caches = variable("XDG_CACHE_HOME"); caches.is_absolute())
    return caches / "nestsmith";
  if (fs::path home = variable("HOME"); !home.empty())
    return home / ".cache" / "nestsmith";
  return {};
}

DiskCache &DiskCache::standard() {
  static DiskCache cache(standard_directory());
  return cache;
}

DiskCache::DiskCache(fs::path directory, std::string kind)
    : directory_(std::move(directory)), kind_(std::move(kind)) {
  if (directory_.empty())
    note_ = fmt::format("{}s are not cached: neither NESTSMITH_CACHE nor HOME is set", kind_);
}

std::string DiskCache::key(const std::vector<std::string> &parts) {
  std::string all;
  for (const std::string &part : parts)
    all += fmt::format("{}:{}\n", part.size(), part);
  return sha256(all);
}

fs::path DiskCache::file(const std::string &key) const { return directory_ / (key + "." + kind_); }

std::optional<std::string> DiskCache::get(const std::string &key) const {
  if (directory_.empty())
    return std::nullopt;
  // Read the file and do not map it, because another process may replace it. A folder of this name cannot be
  // read.
  auto entry =
      llvm::MemoryBuffer::getFile(file(key).string(), /*IsText=*/false, /*RequiresNullTerminator=*/false,
                                  /*IsVolatile=*/true);
  if (!entry)
    return std::nullopt;
  std::string_view data((*entry)->getBufferStart(), (*entry)->getBufferSize());
  const std::string header = header_of(kind_);
  std::size_t start = header.size() + digest_length + 1;
  if (data.size() < start || !data.starts_with(header) || data[start - 1] != '\n')
    return std::nullopt;
  std::string payload(data.substr(start));
  if (data.substr(header.size(), digest_length) != sha256(payload))
    return std::nullopt;
  return payload;
}

void DiskCache::put(const std::string &key, std::string_view payload) {
  if (directory_.empty())
    return;
  std::error_code error;
  fs::create_directories(directory_, error);
  std::string why = error ? error.message() : "";
  if (why.empty())
    if (int failed =
            write_whole(file(key), fmt::format("{}{}\n{}", header_of(kind_), sha256(payload), payload)))
      why = reason(failed);
  std::lock_guard lock(mutex_);
  note_ = why.empty()
              ? ""
              : fmt::format(
                    "{}s are not cached: {} cannot be written ({}); set NESTSMITH_CACHE to a writable folder",
                    kind_, directory_.string(), why);
}

std::string DiskCache::note() const {
  std::lock_guard lock(mutex_);
  return note_;
}

std::string DiskCache::why_not_writable() const {
  if (directory_.empty())
    return "neither NESTSMITH_CACHE nor HOME is set";
  // The directory may not exist yet. Then its nearest existing ancestor must permit its creation.
  fs::path existing = fs::absolute(directory_);
  struct stat info {};
  while (::stat(existing.c_str(), &info) != 0 && errno == ENOENT && existing.has_relative_path())
    existing = existing.parent_path();
  if (::stat(existing.c_str(), &info) != 0)
    return reason(errno);
  if (!S_ISDIR(info.st_mode))
    return fmt::format("{} is not a folder", existing.string());
  // Only a trial can tell, because permissions do not show a full or a special file system.
  std::string probe = (existing / ".nestsmith.XXXXXX").string();
  if (!::mkdtemp(probe.data()))
    return fmt::format("{}: {}", existing.string(), reason(errno));
  ::rmdir(probe.c_str());
  return "";
}

} // namespace nestsmith
