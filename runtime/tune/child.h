#pragma once
/// A second process of this program, with which it exchanges lines of text. A kernel that hangs or that breaks
/// the CUDA context ends only the child.

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::tune {

/// The environment variable that tells a process that it is a child. Its value is "READ,WRITE", the numbers of
/// the file descriptors of its pipes.
inline constexpr const char *child_variable = "NESTSMITH_CHILD";

/// The end of the parent.
class Child {
public:
  /// Starts the executable of this process with the command line of this process, so that a user's program
  /// reaches the same command with the same rungs. The child does not react to Ctrl-C. Throws UserError (usage)
  /// if the process cannot be started.
  static Child start();
  /// The same with another command line.
  static Child start(const std::string &executable, const std::vector<std::string> &arguments);
  /// Ends the process if it still runs.
  ~Child();
  Child(Child &&) noexcept;
  Child &operator=(Child &&) noexcept;

  /// Sends a line, which must not contain a line end. A child that has ended does not receive it.
  void send(const std::string &line);
  struct Received {
    std::optional<std::string> line;
    bool timed_out = false; ///< without a line: the child still runs. Otherwise it has ended
  };
  /// Waits for the next line of the child. A signal does not end the wait.
  Received receive(double timeout_seconds);
  /// Ends the process. Returns a description of how it ended: "exit code 1", "signal 11 (Segmentation fault)".
  std::string end();

private:
  struct State;
  explicit Child(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The end of the child: none in a process that is not a child.
class Parent {
public:
  static std::optional<Parent> connect();
  /// The next line; none if the parent has ended.
  std::optional<std::string> receive();
  void send(const std::string &line);

private:
  int in_ = -1, out_ = -1;
  std::string buffer_;
};

} // namespace nestsmith::tune
