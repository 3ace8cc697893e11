#pragma once
/// Steps that the rungs share.

#include "dsl/schedule/schedule.h"
#include "schedules/rung.h"

namespace nestsmith::softmax_rows {

/// Divides a row among `threads` threads, which are bound to `axis`. They combine the maximum and the sum, of
/// which each of them keeps a copy in a register, and each thread writes its elements of the result.
void by_threads(Schedule &s, Loop row, Axis axis, std::int64_t threads);

/// How many elements of X, and of Y, a thread can access at once: as many as 16 bytes hold and rows are a
/// multiple of. 1 if that has less than 4 bytes.
std::int64_t vector_width(const Shape &shape, DType dtype);

} // namespace nestsmith::softmax_rows
