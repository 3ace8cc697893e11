#include "tests/fuzz/isolated.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace nestsmith::fuzz {

namespace {

[[noreturn]] void failed(const char *call) { throw std::system_error(errno, std::generic_category(), call); }

[[noreturn]] void run_in_child(const std::function<void()> &work, int said) {
  dup2(said, STDERR_FILENO);
  close(said);
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  std::signal(SIGABRT, SIG_DFL);
  std::signal(SIGPROF, SIG_DFL);
  rearm();
  try {
    work();
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::abort();
  }
  std::fflush(nullptr);
  _exit(0);
}

} // namespace

void rearm() {
  itimerval timer{{0, 0}, {most_seconds, 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

Ending isolated(const std::function<void()> &work) {
  int ends[2];
  if (pipe(ends) != 0)
    failed("pipe");
  std::fflush(nullptr);
  pid_t child = fork();
  if (child < 0)
    failed("fork");
  if (child == 0) {
    close(ends[0]);
    run_in_child(work, ends[1]);
  }
  close(ends[1]);
  Ending ending;
  std::array<char, 4096> buffer;
  for (ssize_t got; (got = ::read(ends[0], buffer.data(), buffer.size())) != 0;) {
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      failed("read");
    if (ending.said.size() < 100000)
      ending.said.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      failed("waitpid");
  ending.hung = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;
  ending.crashed = !ending.hung && (!WIFEXITED(status) || WEXITSTATUS(status) != 0);
  return ending;
}

void *shared_memory(std::size_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    failed("mmap");
  return memory;
}

} // namespace nestsmith::fuzz
