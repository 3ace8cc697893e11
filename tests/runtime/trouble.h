#pragma once
/// Simulates full disks, and processes that end too early.

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

/// Runs `f` in a child process and returns how the process ended: the result of `f` if below 128, or 128 plus
/// the signal.
template <class F> int in_child(const F &f) {
  pid_t child = fork();
  if (child == 0)
    _exit(f());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Limits the size of the files of this process from now on. A larger write ends the process, or fails.
inline void limit_files(rlim_t bytes, bool ends) {
  std::signal(SIGXFSZ, ends ? SIG_DFL : SIG_IGN);
  rlimit limit{bytes, bytes}, core{0, 0};
  setrlimit(RLIMIT_FSIZE, &limit);
  setrlimit(RLIMIT_CORE, &core);
}

/// Mounts a disk of 64 KB at `folder`, for this process only. Returns false if the process has no right to do
/// so.
inline bool make_small_disk(const std::filesystem::path &folder) {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
    return false;
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=64k,mode=700") == 0;
}

/// Whether the file system supports nameless files, so that a killed process leaves no partial file.
inline bool has_nameless_files(const std::filesystem::path &folder) {
  int descriptor = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (descriptor >= 0)
    close(descriptor);
  return descriptor >= 0;
}

} // namespace nestsmith::test
