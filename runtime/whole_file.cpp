#include "runtime/whole_file.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

namespace nestsmith {

namespace {

int write_all(int descriptor, std::string_view data) {
  while (!data.empty()) {
    ssize_t n = ::write(descriptor, data.data(), data.size());
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return n < 0 ? errno : EIO;
    data.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

/// A name beside `path` that no other thread or process takes.
std::string name_beside(const std::filesystem::path &path) {
  static std::atomic<unsigned> count = 0;
  return (path.parent_path() / fmt::format(".{}.{}.{}.tmp", path.filename().string(), ::getpid(), count++))
      .string();
}

int replace(const std::string &temporary, const std::filesystem::path &path) {
  if (::rename(temporary.c_str(), path.c_str()) == 0)
    return 0;
  int error = errno;
  ::unlink(temporary.c_str());
  return error;
}

/// Gives the nameless file its name.
int publish(int descriptor, const std::filesystem::path &path) {
  std::string link = fmt::format("/proc/self/fd/{}", descriptor);
  auto link_to = [&](const std::string &name) {
    return ::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
  };
  int error = link_to(path.string());
  if (error != EEXIST)
    return error;
  // A link replaces nothing, a renaming does.
  std::string temporary = name_beside(path);
  error = link_to(temporary);
  return error != 0 ? error : replace(temporary, path);
}

int write_beside(const std::filesystem::path &path, std::string_view data) {
  std::string temporary = name_beside(path);
  int descriptor = ::open(temporary.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return errno;
  int error = write_all(descriptor, data);
  if (::close(descriptor) != 0 && error == 0)
    error = errno;
  if (error != 0) {
    ::unlink(temporary.c_str());
    return error;
  }
  return replace(temporary, path);
}

} // namespace

int write_whole(const std::filesystem::path &path, std::string_view data) {
  std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  // Some file systems have no nameless files, and a system without /proc cannot name them.
  int descriptor = ::access("/proc/self/fd", X_OK) == 0
                       ? ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666)
                       : -1;
  if (descriptor < 0)
    return write_beside(path, data);
  int error = write_all(descriptor, data);
  if (error == 0)
    error = publish(descriptor, path);
  ::close(descriptor);
  return error;
}

} // namespace nestsmith
