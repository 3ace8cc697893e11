#include "runtime/tune/child.h"

#include "dsl/expr/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace nestsmith::tune {

namespace {

/// Writes the line; false if nobody reads it.
bool write_line(int file, const std::string &line) {
  std::string text = line + "\n";
  for (std::size_t done = 0; done < text.size();) {
    ssize_t count = write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

std::optional<std::string> take_line(std::string &buffer) {
  std::size_t end = buffer.find('\n');
  if (end == std::string::npos)
    return std::nullopt;
  std::string line = buffer.substr(0, end);
  buffer.erase(0, end + 1);
  return line;
}

enum class Read : std::uint8_t { data, end };
/// Appends what can be read now.
Read read_more(int file, std::string &buffer) {
  std::array<char, 4096> part{};
  while (true) {
    ssize_t count = read(file, part.data(), part.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return Read::end;
    buffer.append(part.data(), static_cast<std::size_t>(count));
    return Read::data;
  }
}

std::vector<std::string> own_command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find('\0', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

} // namespace

struct Child::State {
  pid_t process = -1;
  int to = -1, from = -1;
  std::string buffer;
};

Child::Child(std::unique_ptr<State> state) : state_(std::move(state)) {}
Child::Child(Child &&) noexcept = default;
Child &Child::operator=(Child &&other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}
Child::~Child() {
  if (state_)
    end();
}

Child Child::start() {
  return start(std::filesystem::read_symlink("/proc/self/exe").string(), own_command_line());
}

Child Child::start(const std::string &executable, const std::vector<std::string> &arguments) {
  std::array<int, 2> to{}, from{};
  if (pipe2(to.data(), O_CLOEXEC) != 0)
    throw UserError(ExitCode::usage, fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (pipe2(from.data(), O_CLOEXEC) != 0) {
    int error = errno;
    close(to[0]), close(to[1]);
    throw UserError(ExitCode::usage, fmt::format("cannot start a process: {}", std::strerror(error)));
  }
  std::signal(SIGPIPE, SIG_IGN); // a write to a child that has ended is an error of `write`
  // After fork, only functions that are safe in a signal handler may be called, so all text is made before.
  std::string variable = fmt::format("{}={},{}", child_variable, to[0], from[1]);
  std::vector<char *> words, environment;
  for (const std::string &word : arguments)
    words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);
  for (char **entry = environ; *entry; ++entry)
    if (std::strncmp(*entry, child_variable, std::strlen(child_variable)) != 0)
      environment.push_back(*entry);
  environment.push_back(variable.data());
  environment.push_back(nullptr);
  pid_t process = fork();
  if (process == 0) {
    fcntl(to[0], F_SETFD, 0);
    fcntl(from[1], F_SETFD, 0);
    setpgid(0, 0); // Ctrl-C in the terminal reaches only the parent
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execve(executable.c_str(), words.data(), environment.data());
    _exit(127);
  }
  int error = errno;
  close(to[0]), close(from[1]);
  auto state = std::make_unique<State>();
  state->process = process, state->to = to[1], state->from = from[0];
  if (process < 0) {
    close(to[1]), close(from[0]);
    throw UserError(ExitCode::usage, fmt::format("cannot start a process: {}", std::strerror(error)));
  }
  return Child(std::move(state));
}

void Child::send(const std::string &line) { write_line(state_->to, line); }

Child::Received Child::receive(double timeout_seconds) {
  using Clock = std::chrono::steady_clock;
  auto deadline = Clock::now() + std::chrono::duration<double>(timeout_seconds);
  while (true) {
    if (auto line = take_line(state_->buffer))
      return {std::move(line), false};
    double left = std::chrono::duration<double, std::milli>(deadline - Clock::now()).count();
    pollfd wanted{state_->from, POLLIN, 0};
    int ready = poll(&wanted, 1, static_cast<int>(std::clamp(left, 0.0, 1e9)));
    if (ready < 0 && errno == EINTR) // Ctrl-C: the search ends after this answer
      continue;
    if (ready == 0)
      return {std::nullopt, true};
    if (read_more(state_->from, state_->buffer) == Read::end)
      return {std::nullopt, false};
  }
}

std::string Child::end() {
  if (state_->process < 0)
    return "";
  close(state_->to), close(state_->from);
  int status = 0;
  // A child whose parent has closed the pipes ends soon. A kernel that hangs keeps it.
  bool ended = false;
  for (int n = 0; n < 20 && !ended; ++n) {
    ended = waitpid(state_->process, &status, WNOHANG) != 0;
    if (!ended)
      usleep(10'000);
  }
  if (!ended) {
    kill(state_->process, SIGKILL);
    while (waitpid(state_->process, &status, 0) < 0 && errno == EINTR)
      continue;
  }
  state_->process = -1;
  if (WIFSIGNALED(status))
    return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

std::optional<Parent> Parent::connect() {
  const char *value = std::getenv(child_variable);
  if (!value)
    return std::nullopt;
  Parent parent;
  if (std::sscanf(value, "%d,%d", &parent.in_, &parent.out_) != 2)
    throw UserError(ExitCode::usage,
                    fmt::format("the environment variable {} is '{}'; it is set by nestsmith only, so unset it",
                                child_variable, value));
  unsetenv(child_variable);
  fcntl(parent.in_, F_SETFD, FD_CLOEXEC);
  fcntl(parent.out_, F_SETFD, FD_CLOEXEC);
  return parent;
}

std::optional<std::string> Parent::receive() {
  while (true) {
    if (auto line = take_line(buffer_))
      return line;
    if (read_more(in_, buffer_) == Read::end)
      return std::nullopt;
  }
}

void Parent::send(const std::string &line) {
  if (!write_line(out_, line))
    _exit(1); // nobody is left to tell
}

} // namespace nestsmith::tune
