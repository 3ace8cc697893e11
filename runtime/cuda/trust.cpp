#include "runtime/cuda/trust.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <grp.h>
#include <pwd.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

namespace fs = std::filesystem;

namespace nestsmith {
namespace {

constexpr int most_links = 40;           ///< as the kernel follows them
constexpr gid_t first_dynamic_gid = 100; ///< lower ones belong to the system: root, staff

/// The name of this user, or an empty string.
std::string own_name() {
  std::vector<char> buffer(1 << 14);
  passwd entry{}, *found = nullptr;
  bool known = ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found;
  return known ? found->pw_name : "";
}

/// Whether nobody except root and this user is in the group. The members of a group do not include users whose
/// primary group it is, so the group must be one that no other user has as the primary group.
bool is_own_group(gid_t gid) {
  std::vector<char> buffer(1 << 16);
  group entry{}, *found = nullptr;
  if (::getgrgid_r(gid, &entry, buffer.data(), buffer.size(), &found) != 0 || !found)
    return false;
  const std::string user = own_name();
  if (gid >= first_dynamic_gid && found->gr_name != user)
    return false;
  for (char **member = found->gr_mem; *member; ++member)
    if (*member != user && std::strcmp(*member, "root") != 0)
      return false;
  return true;
}

fs::path shown(const fs::path &path) { return path.empty() ? "/" : path; }

/// The reason why others can change this one file, folder or link.
std::string why_others_change(const struct stat &info, const fs::path &path, std::optional<uid_t> owner) {
  if (info.st_uid != 0 && info.st_uid != ::geteuid() && info.st_uid != owner)
    return fmt::format("{} belongs to the user {}", path.string(), info.st_uid);
  bool sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
  if (!S_ISLNK(info.st_mode) && !sticky && others_can_write(path, info))
    return fmt::format("other users can write to {}", path.string());
  return "";
}

} // namespace

bool others_can_write(const fs::path &path, const struct stat &info) {
  if ((info.st_mode & S_IWOTH) != 0)
    return true;
  if ((info.st_mode & S_IWGRP) == 0)
    return false;
  // With an access control list, this bit is the union of what the list permits to users and groups.
  bool has_list = ::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
  return has_list || !is_own_group(info.st_gid);
}

std::string why_untrusted(const fs::path &path, std::optional<uid_t> owner) {
  if (!path.is_absolute())
    return fmt::format("'{}' is not an absolute path", path.string());
  std::deque<fs::path> rest(path.begin(), path.end());
  fs::path at;
  int links = 0;
  while (!rest.empty()) {
    fs::path name = rest.front();
    rest.pop_front();
    if (name.empty() || name == ".")
      continue;
    if (name == "..") { // `at` has no links
      at = at.parent_path();
      continue;
    }
    fs::path next = name.is_absolute() ? name : at / name;
    struct stat info {};
    if (::lstat(next.c_str(), &info) != 0)
      return fmt::format("{}: {}", next.string(), std::strerror(errno));
    if (std::string why = why_others_change(info, shown(next), owner); !why.empty())
      return why;
    if (!S_ISLNK(info.st_mode)) {
      at = next;
      continue;
    }
    std::error_code error;
    fs::path target = fs::read_symlink(next, error);
    if (error || ++links > most_links)
      return fmt::format("{}: {}", next.string(), error ? error.message() : std::strerror(ELOOP));
    rest.insert(rest.begin(), target.begin(), target.end());
    if (target.is_absolute())
      at.clear();
  }
  return "";
}

std::optional<fs::path> relative_library(const std::string &name) {
  // The loader searches each folder, and these folders below it.
  const std::vector<std::string> of_cpu = {"glibc-hwcaps", "x86-64-v2", "x86-64-v3", "x86-64-v4",
                                           "tls",          "haswell",   "x86_64",    "avx512_1"};
  const char *value = std::getenv("LD_LIBRARY_PATH");
  std::string list = value ? value : "";
  std::replace(list.begin(), list.end(), ';', ':');
  std::vector<fs::path> folders;
  for (std::size_t begin = 0; !list.empty() && begin <= list.size();) {
    std::size_t end = std::min(list.find(':', begin), list.size());
    fs::path folder = list.substr(begin, end - begin);
    if (!folder.is_absolute() && !folder.string().starts_with("$"))
      folders.push_back(folder.empty() ? "." : folder);
    begin = end + 1;
  }
  for (std::size_t n = 0; n < folders.size() && n < 1000; ++n) {
    std::error_code error;
    if (fs::exists(folders[n] / name, error))
      return folders[n] / name;
    const fs::path folder = folders[n];
    for (const std::string &below : of_cpu)
      if (fs::is_directory(folder / below, error))
        folders.push_back(folder / below);
  }
  return std::nullopt;
}

} // namespace nestsmith
