#include "runtime/cuda/cache.h"

#include "dsl/expr/outside.h"
#include "dsl/expr/printable.h"
#include "runtime/cuda/trust.h"
#include "runtime/cuda/whole_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>

namespace fs = std::filesystem;

namespace nestsmith {
namespace {

/// The first line of an entry. The digest of the entry, a newline and the payload follow.
std::string header_of(const std::string &kind) { return fmt::format("nestsmith {} 2\n", kind); }
constexpr std::size_t digest_length = 64;
constexpr std::size_t most_entry_bytes = 64 << 20;

/// One refusal, for the process.
struct Refusal {
  std::mutex mutex;
  std::string text;
};
Refusal &first_refusal() {
  static Refusal refusal;
  return refusal;
}

/// The reason why a folder is not only of this user, or an empty string.
std::string why_of_others(const fs::path &folder, const struct stat &info) {
  if (info.st_uid != ::geteuid())
    return fmt::format("{} belongs to the user {}", printable(folder.string()), info.st_uid);
  if (others_can_write(folder, info))
    return fmt::format("other users can write to {}", printable(folder.string()));
  return "";
}

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

void DiskCache::set_note(const std::string &note) const {
  std::lock_guard lock(mutex_);
  note_ = note;
}

int DiskCache::open_own() const {
  int folder = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
  struct stat info {};
  if (folder < 0 || ::fstat(folder, &info) != 0)
    return folder;
  std::string why = why_of_others(directory_, info);
  if (why.empty())
    return folder;
  ::close(folder);
  std::string note =
      fmt::format("{}s are not cached: {}; set NESTSMITH_CACHE to a folder of your own", kind_, why);
  set_note(note);
  std::lock_guard lock(first_refusal().mutex);
  if (first_refusal().text.empty())
    first_refusal().text = note;
  errno = EPERM;
  return -1;
}

std::optional<std::string> DiskCache::get(const std::string &key) const {
  if (directory_.empty())
    return std::nullopt;
  int folder = open_own();
  if (folder < 0)
    return std::nullopt;
  std::optional<std::string> entry = read_own(folder, key + "." + kind_, most_entry_bytes);
  ::close(folder);
  const std::string header = header_of(kind_);
  std::size_t start = header.size() + digest_length + 1;
  if (!entry || entry->size() < start || !entry->starts_with(header) || (*entry)[start - 1] != '\n')
    return std::nullopt;
  std::string payload = entry->substr(start);
  if (std::string_view(*entry).substr(header.size(), digest_length) != DiskCache::key({header, key, payload}))
    return std::nullopt;
  return payload;
}

void DiskCache::put(const std::string &key, std::string_view payload) {
  if (directory_.empty())
    return;
  std::error_code error;
  fs::create_directories(directory_.parent_path(), error);
  std::string why;
  if (::mkdir(directory_.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    why = reason(errno);
  int folder = why.empty() ? open_own() : -1;
  if (folder >= 0)
    ::close(folder);
  else if (why.empty() && errno == EPERM)
    return; // refused, with a note
  else if (why.empty())
    why = reason(errno);
  const std::string header = header_of(kind_), content(payload);
  if (why.empty())
    if (int failed =
            write_whole(directory_ / (key + "." + kind_),
                        fmt::format("{}{}\n{}", header, DiskCache::key({header, key, content}), content),
                        S_IRUSR | S_IWUSR))
      why = reason(failed);
  set_note(why.empty() ? ""
                       : fmt::format("{}s are not cached: {} cannot be written ({}); set NESTSMITH_CACHE to a "
                                     "writable folder",
                                     kind_, directory_.string(), why));
}

std::string DiskCache::why_not_own() const {
  struct stat info {};
  if (directory_.empty() || ::stat(directory_.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return "";
  return why_of_others(directory_, info);
}

std::string DiskCache::refused() {
  std::lock_guard lock(first_refusal().mutex);
  return first_refusal().text;
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
  if (std::string why = why_not_own(); !why.empty())
    return why;
  // Only a trial can tell, because permissions do not show a full or a special file system.
  std::string probe = (existing / ".nestsmith.XXXXXX").string();
  if (!::mkdtemp(probe.data()))
    return fmt::format("{}: {}", existing.string(), reason(errno));
  ::rmdir(probe.c_str());
  return "";
}

} // namespace nestsmith
