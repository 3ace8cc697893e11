#include "runtime/cuda/whole_file.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <list>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

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

/// A name next to `path` that no other thread or process uses.
std::string name_beside(const std::filesystem::path &path) {
  static std::atomic<unsigned> count = 0;
  return (path.parent_path() / fmt::format(".{}.{}.{}.tmp", path.filename().string(), ::getpid(), count++))
      .string();
}

/// A file that is written, but is not yet at its path. If it is not published, it leaves nothing behind.
class NewFile {
public:
  explicit NewFile(std::filesystem::path path, mode_t mode = 0666) : path_(std::move(path)), mode_(mode) {}
  ~NewFile() {
    if (descriptor_ >= 0)
      ::close(descriptor_);
    if (!temporary_.empty())
      ::unlink(temporary_.c_str());
  }
  NewFile(const NewFile &) = delete;
  NewFile &operator=(const NewFile &) = delete;

  int write(std::string_view data) {
    std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
    // Some file systems do not support nameless files, and a system without /proc cannot name them.
    if (::access("/proc/self/fd", X_OK) == 0)
      descriptor_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode_);
    if (descriptor_ >= 0) {
      keep_permissions();
      return write_all(descriptor_, data);
    }
    std::string temporary = name_beside(path_);
    descriptor_ = ::open(temporary.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode_);
    if (descriptor_ < 0)
      return errno;
    temporary_ = temporary;
    keep_permissions();
    int error = write_all(descriptor_, data);
    if (::close(std::exchange(descriptor_, -1)) != 0 && error == 0)
      error = errno;
    return error;
  }

  int publish() {
    if (temporary_.empty()) {
      int error = link_to(path_.string());
      if (error != EEXIST)
        return error;
      // A link does not replace a file, but renaming does.
      std::string temporary = name_beside(path_);
      error = link_to(temporary);
      if (error != 0)
        return error;
      temporary_ = temporary;
    }
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
      return errno;
    temporary_.clear();
    return 0;
  }

private:
  /// Gives the new file the group and the permissions of the file that it replaces. A group that this user may
  /// not give loses its permissions.
  void keep_permissions() const {
    struct stat old {};
    if (::stat(path_.c_str(), &old) != 0 || !S_ISREG(old.st_mode))
      return;
    struct stat now {};
    bool same_group = ::fstat(descriptor_, &now) == 0 && now.st_gid == old.st_gid;
    mode_t group = same_group || ::fchown(descriptor_, static_cast<uid_t>(-1), old.st_gid) == 0 ? S_IRWXG : 0;
    [[maybe_unused]] int ignored = ::fchmod(descriptor_, old.st_mode & (S_IRWXU | group | S_IRWXO));
  }
  /// Gives the nameless file a name.
  int link_to(const std::string &name) const {
    std::string link = fmt::format("/proc/self/fd/{}", descriptor_);
    return ::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
  }

  std::filesystem::path path_;
  mode_t mode_;
  int descriptor_ = -1;   ///< of a nameless file that has been written
  std::string temporary_; ///< its name next to its path
};

/// A second name for the file at a path, so that the file can be restored.
class OldFile {
public:
  explicit OldFile(std::filesystem::path path) : path_(std::move(path)) {}
  ~OldFile() {
    if (!name_.empty())
      ::unlink(name_.c_str());
  }
  OldFile(const OldFile &) = delete;
  OldFile &operator=(const OldFile &) = delete;

  int keep() {
    std::string name = name_beside(path_);
    if (::link(path_.c_str(), name.c_str()) == 0) {
      name_ = name;
      return 0;
    }
    if (errno == ENOENT) // there is no file
      return 0;
    std::error_code error; // a file system without links
    if (std::filesystem::copy_file(path_, name, error))
      name_ = name;
    return error.value();
  }
  /// Restores the file. If there was none, removes the new one.
  void restore() {
    if (name_.empty())
      ::unlink(path_.c_str());
    else if (::rename(name_.c_str(), path_.c_str()) == 0)
      name_.clear();
  }

private:
  std::filesystem::path path_;
  std::string name_;
};

} // namespace

int write_whole(const std::filesystem::path &path, std::string_view data, mode_t mode) {
  NewFile file(path, mode);
  int error = file.write(data);
  return error != 0 ? error : file.publish();
}

std::optional<NotWritten> write_whole(std::span<const FileToWrite> files) {
  std::list<NewFile> staged; // neither type can be moved
  std::list<OldFile> kept;
  for (const FileToWrite &file : files) {
    int error = staged.emplace_back(file.path).write(file.data);
    if (error == 0)
      error = kept.emplace_back(file.path).keep();
    if (error != 0)
      return NotWritten{file.path, error};
  }
  auto old = kept.begin();
  auto next = files.begin();
  for (NewFile &file : staged) {
    if (int error = file.publish()) {
      for (auto it = kept.begin(); it != old; ++it)
        it->restore();
      return NotWritten{next->path, error};
    }
    ++old, ++next;
  }
  return std::nullopt;
}

} // namespace nestsmith
