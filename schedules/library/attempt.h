#pragma once
/// Changes of a schedule that happen whole or not at all.

#include "dsl/schedule/schedule.h"

#include <functional>

namespace nestsmith::library {

/// Applies `f` to a copy, which replaces the schedule. The schedule stays as it is if `f` throws, or if the
/// copy has an obligation that the schedule has not: then it throws ScheduleError, with the first such
/// obligation.
void change(Schedule &schedule, const std::function<void(Schedule &)> &f);

/// The same; false if it throws UserError, such as for a copy of a result that is read in the nest.
bool is_changed(Schedule &schedule, const std::function<void(Schedule &)> &f);

} // namespace nestsmith::library
