#pragma once
/// Schedules of the other blocks of a computation, and of whole computations.
///
///   Schedule s = library::schedule(w.output({Y}), target);
///
/// schedules a program without a directive of the user: contractions by `product`, and what is left by the
/// functions below. Each works on a block in a nest of its own, whose loops have no form yet, throws UserError
/// (illegal_schedule) if it cannot schedule it, and leaves the schedule unchanged then. All return handles to
/// the blocks and loops that they made, for directives that follow.

#include "dsl/schedule/schedule.h"

#include <optional>
#include <string>
#include <vector>

namespace nestsmith::library {

struct Elementwise {
  BlockRef block;
  Loop blocks, threads;         ///< bound to blockIdx.x and threadIdx.x
  std::optional<Loop> elements; ///< neighbours of a thread, vectorized; none: a thread has one element
};
/// A block that is no reduction: consecutive threads write neighbours in memory, 16 bytes at a time if all
/// accesses allow it.
Elementwise elementwise(Schedule &s, BlockRef block);

/// A tile of a transpose has two nests: one that fills it, and one that stores the results.
struct Transpose {
  BlockRef block, tile;             ///< stores the results; fills the tile in shared memory
  Loop blocks;                      ///< over the tiles, bound to blockIdx.x
  Loop threads, elements;           ///< of `block`: bound to threadIdx.x; around it, unrolled
  Loop tile_threads, tile_elements; ///< the same of `tile`
};
/// A block that is no reduction and reads one buffer along another axis than it writes along: through tiles of
/// 32 x 32 elements in shared memory, so that both accesses are of neighbours.
Transpose transpose(Schedule &s, BlockRef block);

struct Reduction {
  BlockRef sum; ///< has the complete sums: the block of the computation
  /// Adds the terms of one thread. If threads share the terms of a result, `sum` combines its partial results;
  /// otherwise it is `sum` itself.
  BlockRef terms;
  BlockRef result;              ///< stores the sums in global memory: `sum` itself, or a copy from registers
  std::vector<BlockRef> copies; ///< of the inputs, to registers: `elements` neighbours at a time
  /// Loops around `terms`, outermost first: bound to block axes, bound to thread axes, and over the terms of a
  /// thread. A single result of a few terms is that of one thread: no blocks and no threads.
  std::vector<Loop> blocks, threads, steps;
  std::optional<Loop> elements; ///< inside of the steps: neighbours, unrolled; none: a step has one term
  /// The last of `blocks`, if several blocks share the terms of a result. The last one of these combines their
  /// parts.
  std::optional<Loop> parts;
};
/// A reduction. If the terms of neighbouring results are neighbours in memory, a warp has 32 results, and the 8
/// warps of a block share their terms. Of other reductions, the threads of a warp or of a block share the terms
/// of a result. Few results with many terms are those of several blocks, of which the last one combines the
/// parts. A result of a few terms is that of one thread.
Reduction reduction(Schedule &s, BlockRef block);

struct Fallback {
  BlockRef block, result; ///< `result` stores what `block` computes: `block` itself, or a copy from a register
  std::optional<Loop> blocks, threads; ///< bound to blockIdx.x and threadIdx.x; none for a single result
  std::vector<Loop> steps;             ///< over the terms of a result, if the block is a reduction
};
/// Any block: a thread for each result. It is right, and as fast as its accesses are.
Fallback fallback(Schedule &s, BlockRef block);

/// A whole program. One of rows of constant length, such as a softmax, is one kernel that keeps each row in
/// registers (`rows::in_registers`), if its reads have no masks. Of others, stages that are no reductions are
/// inlined into their readers, and each nest that is left is scheduled by the first of `product`, `reduction`,
/// `transpose`, `elementwise` and `fallback` that can. If `refused` is given, it gets one sentence for each
/// product of matrices that `product` refused, or that has no matrix units although the target has them
/// (`Product::without_units`), and for each reduction that would be a product with other axes
/// (`Product::without_tiles`).
Schedule schedule(Program program, Target target = {}, std::vector<std::string> *refused = nullptr);

} // namespace nestsmith::library

namespace nestsmith {
using library::schedule;
}
