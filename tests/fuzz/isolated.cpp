/// Runs work in child processes with a limit of processor time, and shares memory with them.

#include "tests/fuzz/isolated.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <malloc.h>
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
  mallopt(M_PERTURB, 0x5a); // fill freed memory, so that reads of it give other values
  std::signal(SIGABRT, SIG_DFL);
  std::signal(SIGPROF, SIG_DFL);
  std::signal(SIGALRM, SIG_DFL);
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

/// The current activity of a process.
using Activity = std::array<char, 64>;
Activity &activity() {
  static Activity &shared = shared_object<Activity>();
  return shared;
}

} // namespace

static int seconds_allowed = 0; // 0 in a process that is no child

void doing(const std::string &what) {
  if (seconds_allowed > 0)
    rearm(seconds_allowed);
  std::size_t length = what.copy(activity().data(), activity().size() - 1);
  activity()[length] = 0;
}

std::string was_doing() { return activity().data(); }

void rearm(int seconds) {
  seconds_allowed = seconds;
  itimerval timer{{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &timer, nullptr);
}

Alarm::Alarm(unsigned seconds) { alarm(seconds); }
Alarm::~Alarm() { alarm(0); }

Ending isolated(const std::function<void()> &work) {
  int ends[2];
  if (pipe(ends) != 0)
    failed("pipe");
  std::fflush(nullptr);
  doing(""); // creates the shared memory before the fork
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
    ending.said.append(buffer.data(), static_cast<std::size_t>(got));
    constexpr std::size_t most = 100000; // the last characters contain the cause of the end
    if (ending.said.size() > 2 * most)
      ending.said.erase(0, ending.said.size() - most);
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      failed("waitpid");
  ending.alarmed = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
  ending.hung = ending.alarmed || (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF);
  ending.crashed = !ending.hung && (!WIFEXITED(status) || WEXITSTATUS(status) != 0);
  return ending;
}

double processor_seconds() {
  double all = 0;
  for (auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval &time : {usage.ru_utime, usage.ru_stime})
      all += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  }
  return all;
}

void *shared_memory(std::size_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    failed("mmap");
  return memory;
}

} // namespace nestsmith::fuzz
