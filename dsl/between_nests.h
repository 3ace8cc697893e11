#pragma once
/// Obligations between top-level nests.

#include "dsl/schedule.h"

namespace nestsmith {

/// The obligations that arise because each nest becomes a kernel. Only global memory outlives a kernel, and
/// only the end of a kernel orders accesses of different blocks.
std::vector<Obligation> owed_between_nests(const Schedule &schedule);

/// The step that created the block or the buffer, or last changed its scope: n for the n-th directive, 0 for
/// the computation itself.
std::size_t maker(const Schedule &schedule, const std::string &name);

/// Whether the block reads or writes the buffer.
bool touches(const Block &block, const Buffer &buffer);

} // namespace nestsmith
