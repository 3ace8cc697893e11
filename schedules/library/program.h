#pragma once
/// Schedules of the other blocks of a computation, and of whole computations.
///
///   Schedule s = library::schedule(w.output({Y}), target);
///
/// schedules a program without a directive of the user: contractions by `product`, and what is left by the
/// functions below. Each works on a block in a nest of its own, whose loops have no form yet, throws UserError
/// (illegal_schedule) if it cannot schedule it, and leaves the schedule unchanged then.

#include "dsl/schedule/schedule.h"

#include <string>
#include <vector>

namespace nestsmith::library {

/// A block that is no reduction: consecutive threads write neighbours in memory, 16 bytes at a time if all
/// accesses allow it.
void elementwise(Schedule &s, BlockRef block);

/// A block that is no reduction and reads one buffer along another axis than it writes along: through tiles of
/// 32 x 32 elements in shared memory, so that both accesses are of neighbours.
void transpose(Schedule &s, BlockRef block);

/// A reduction. If the terms of neighbouring results are neighbours in memory, a warp has 32 results, and the 8
/// warps of a block share their terms. Of other reductions, the threads of a warp or of a block share the terms
/// of a result. Few results with many terms are those of several blocks, of which the last one combines the
/// parts. A result of a few terms is that of one thread.
void reduction(Schedule &s, BlockRef block);

/// Any block: a thread for each result. It is right, and as fast as its accesses are.
void fallback(Schedule &s, BlockRef block);

/// A whole program. One of rows of constant length, such as a softmax, is one kernel that keeps each row in
/// registers (`rows::in_registers`), if its reads have no masks. Of others, stages that are no reductions are
/// inlined into their readers, and each nest that is left is scheduled by the first of `product`, `reduction`,
/// `transpose`, `elementwise` and `fallback` that can. If `refused` is given, it gets one sentence for each
/// product of matrices that `product` refused, or that has no matrix units although the target has them
/// (`Product::without_units`).
Schedule schedule(Program program, Target target = {}, std::vector<std::string> *refused = nullptr);

} // namespace nestsmith::library

namespace nestsmith {
using library::schedule;
}
