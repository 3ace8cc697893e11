#include "dsl/expr/error.h"

#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>

namespace nestsmith {

ScheduleError::ScheduleError(std::string requirement, std::string directive, std::string message,
                             std::string marked, std::shared_ptr<const Schedule> schedule)
    : UserError(ExitCode::illegal_schedule,
                fmt::format("{}: {}{}{}", directive, message, marked.empty() ? "" : "\n", marked),
                std::move(schedule)),
      requirement_(std::move(requirement)), directive_(std::move(directive)), message_(std::move(message)),
      marked_(std::move(marked)) {}

void refuse_value(const char *type, int value, const char *enumerators) {
  throw UserError(ExitCode::usage,
                  fmt::format("the value {} is not an enumerator of {}; use {}", value, type, enumerators));
}

void internal_error(const std::string &message, std::source_location where) {
  fmt::print(stderr, "nestsmith: internal error: {} ({}:{})\nthis is a bug in nestsmith; please report it\n",
             message, where.file_name(), where.line());
  std::fflush(stderr);
  std::abort();
}

} // namespace nestsmith
