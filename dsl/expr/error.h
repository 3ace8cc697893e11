#pragma once
/// There are two kinds of error. For a mistake of the user, nestsmith throws an exception: UserError, or its
/// subclass ScheduleError for a directive or an obligation. For a bug in nestsmith, `internal_check` aborts the
/// program. This check is never compiled out.

#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>

namespace nestsmith {

class Schedule;

/// Exit codes of the command line.
enum class ExitCode : int { good = 0, wrong_result = 1, usage = 2, illegal_schedule = 3, no_device = 4 };

/// A mistake of the user. `what()` is one message: it starts in lower case, has no full stop, states got and
/// expected, and says how to correct the mistake.
class UserError : public std::runtime_error {
public:
  UserError(ExitCode code, const std::string &message, std::shared_ptr<const Schedule> schedule = nullptr)
      : std::runtime_error(message), code_(code), schedule_(std::move(schedule)) {}
  ExitCode code() const { return code_; }
  /// The schedule that refused a directive or a handle, with all directives before; null for other mistakes.
  const std::shared_ptr<const Schedule> &schedule() const { return schedule_; }

private:
  ExitCode code_;
  std::shared_ptr<const Schedule> schedule_;
};

/// A directive that would change the result, or an obligation that the schedule leaves open. Its exit code is
/// illegal_schedule.
class ScheduleError : public UserError {
public:
  /// `requirement` is the tag of the broken `Requires` line (docs/language.md), such as split.tail; empty for
  /// an obligation. `directive` is the call as C++ text. `message` states the reason, with the actual and the
  /// expected value, and ends with the remedy. `marked` is the printed IR, in which the loops and blocks that
  /// cause the error are underlined.
  ScheduleError(std::string requirement, std::string directive, std::string message, std::string marked,
                std::shared_ptr<const Schedule> schedule = nullptr);
  const std::string &requirement() const { return requirement_; }
  const std::string &directive() const { return directive_; }
  const std::string &message() const { return message_; }
  const std::string &marked() const { return marked_; }

private:
  std::string requirement_, directive_, message_, marked_;
};

/// Throws UserError (usage) for a value of an enumeration that is not an enumerator. Only a cast from an
/// integer makes such a value. `enumerators` lists those that there are.
[[noreturn]] void refuse_value(const char *type, int value, const char *enumerators);

/// Reports a violated invariant of nestsmith itself and aborts.
[[noreturn]] void internal_error(const std::string &message,
                                 std::source_location where = std::source_location::current());
inline void internal_check(bool holds, const char *message,
                           std::source_location where = std::source_location::current()) {
  if (!holds)
    internal_error(message, where);
}

} // namespace nestsmith
