#pragma once
/// What nests owe to each other.

#include "dsl/schedule.h"

namespace nestsmith {

/// Each nest is a kernel, which begins when the one before it has ended. Only global memory outlives a kernel,
/// and only the end of a kernel orders it between blocks.
std::vector<Obligation> owed_between_nests(const Schedule &schedule);

/// The directive that made a block or a buffer: 0 is the computation, n the n-th directive.
std::size_t maker(const Schedule &schedule, const std::string &name);

/// Whether the block reads or writes the buffer.
bool touches(const Block &block, const Buffer &buffer);

} // namespace nestsmith
