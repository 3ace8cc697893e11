#include "schedules/library/attempt.h"

#include "dsl/expr/error.h"
#include "dsl/schedule/trace.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace nestsmith::library {

void change(Schedule &schedule, const std::function<void(Schedule &)> &f) {
  Schedule copy = schedule;
  f(copy);
  if (const std::vector<Obligation> after = copy.obligations(); !after.empty()) {
    const std::vector<Obligation> before = schedule.obligations();
    for (const Obligation &owed : after)
      if (std::ranges::find(before, owed.message, &Obligation::message) == before.end())
        throw to_error(copy, owed);
  }
  schedule = std::move(copy);
}

bool is_changed(Schedule &schedule, const std::function<void(Schedule &)> &f) {
  try {
    change(schedule, f);
    return true;
  } catch (const UserError &) {
    return false;
  }
}

std::string first_line(const UserError &error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

} // namespace nestsmith::library
