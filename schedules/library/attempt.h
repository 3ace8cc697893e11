#pragma once
/// Changes of a schedule that happen whole or not at all.

#include "dsl/expr/error.h"
#include "dsl/schedule/schedule.h"

#include <functional>
#include <string>

namespace nestsmith::library {

/// Applies `f` to a copy, which replaces the schedule. The schedule stays as it is if `f` throws, or if the
/// copy has an obligation that the schedule has not: then it throws ScheduleError, with the first such
/// obligation.
void change(Schedule &schedule, const std::function<void(Schedule &)> &f);

/// The same; false if it throws UserError, such as for a copy of a result that is read in the nest.
bool is_changed(Schedule &schedule, const std::function<void(Schedule &)> &f);

/// The first line of the message, which says what was refused. A program may follow it.
std::string first_line(const UserError &error);

} // namespace nestsmith::library
