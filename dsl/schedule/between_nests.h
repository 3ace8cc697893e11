#pragma once
/// Obligations between top-level nests.

#include "dsl/schedule/schedule.h"

namespace nestsmith {

/// The obligations that are necessary because each top-level nest becomes a separate kernel. The content of
/// shared memory and of registers is lost at the end of a kernel. Only the end of a kernel orders accesses of
/// different thread blocks.
std::vector<Obligation> owed_between_nests(const Schedule &schedule);

/// The number of the directive that created the block or the buffer, or that was the last to change its scope.
/// 0 if no directive did this.
std::size_t maker(const Schedule &schedule, const std::string &name);

} // namespace nestsmith
