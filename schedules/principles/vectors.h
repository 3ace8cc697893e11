#pragma once
/// The schedule of a stage over one axis.

#include "dsl/schedule/schedule.h"

#include <string>

namespace nestsmith::principles {

/// Gives each element of the stage a thread, in blocks of `threads` threads.
void one_thread_an_element(Schedule &s, const std::string &stage, std::int64_t threads = 256);

} // namespace nestsmith::principles
