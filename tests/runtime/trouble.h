#pragma once
/// Disks that are full and processes that end too soon.

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace nestsmith::test {

inline std::vector<std::string> names_in(const std::filesystem::path &folder) {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

/// How a copy of this process ended that returns what `f` does, below 128; 128 and more: the signal that ended
/// it.
template <class F> int in_child(const F &f) {
  pid_t child = fork();
  if (child == 0)
    _exit(f());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// From now on no file of this process grows beyond so many bytes. What tries ends it, or fails.
inline void limit_files(rlim_t bytes, bool ends) {
  std::signal(SIGXFSZ, ends ? SIG_DFL : SIG_IGN);
  rlimit limit{bytes, bytes}, core{0, 0};
  setrlimit(RLIMIT_FSIZE, &limit);
  setrlimit(RLIMIT_CORE, &core);
}

/// For this process alone, `folder` becomes a disk of 64 KB. Not everyone may do so.
inline bool make_small_disk(const std::filesystem::path &folder) {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
    return false;
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=64k,mode=700") == 0;
}

/// Whether a process that is killed leaves no file behind that it was writing.
inline bool has_nameless_files(const std::filesystem::path &folder) {
  int descriptor = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (descriptor >= 0)
    close(descriptor);
  return descriptor >= 0;
}

} // namespace nestsmith::test
