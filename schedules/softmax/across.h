#pragma once
/// The step that the rungs of a warp and of a block share.

#include "dsl/schedule/schedule.h"

namespace nestsmith::softmax_rows {

/// Divides a row among `threads` threads, which are bound to `axis`. They combine the maximum and the sum, of
/// which each of them keeps a copy in a register, and each thread writes its elements of the result.
void by_threads(Schedule &s, Loop row, Axis axis, std::int64_t threads);

} // namespace nestsmith::softmax_rows
