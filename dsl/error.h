#pragma once
/// Two kinds of error. A user's mistake is an exception with a sentence: UserError, and ScheduleError
/// where a directive or an obligation is at fault. Ours is `internal_check`, never compiled out.

#include <source_location>
#include <stdexcept>
#include <string>

namespace nestsmith {

/// Exit codes of the command line.
enum class ExitCode : int { good = 0, wrong_result = 1, usage = 2, illegal_schedule = 3, no_device = 4 };

/// A mistake that a user can mend. `what()` is one message: lower case, no full stop, got and
/// expected, and what to do.
class UserError : public std::runtime_error {
public:
  UserError(ExitCode code, const std::string &message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

private:
  ExitCode code_;
};

/// A directive that would change the result, or an obligation that the schedule leaves open.
class ScheduleError : public UserError {
public:
  /// `directive` as the user wrote it; `message` names the culprit with got and expected and ends with
  /// what to do; `marked` is the printed IR with the culprit underlined.
  ScheduleError(std::string directive, std::string message, std::string marked);
  const std::string &directive() const { return directive_; }
  const std::string &message() const { return message_; }
  const std::string &marked() const { return marked_; }

private:
  std::string directive_, message_, marked_;
};

/// Stops the program: a promise that our own code broke.
[[noreturn]] void internal_error(const std::string &message,
                                 std::source_location where = std::source_location::current());
inline void internal_check(bool holds, const char *message,
                           std::source_location where = std::source_location::current()) {
  if (!holds)
    internal_error(message, where);
}

} // namespace nestsmith
