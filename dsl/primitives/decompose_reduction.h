#pragma once
#include "dsl/schedule.h"

#include <functional>

namespace nestsmith::primitives {

/// decompose_reduction(B, k): the init of a reduction becomes a block of its own before k.
///
///     for k: for j: [k = 0: init] update     =>     for j: init;     for k: for j: update
///
/// Lowering does this by itself, at the outermost loop that is summed over, where it was not asked for.
///
/// Requires [decompose_reduction.init]: B has an init.
/// Requires [decompose_reduction.encloses]: k encloses B.
/// Requires [decompose_reduction.outermost]: no loop outside of k is summed over.
/// Requires [decompose_reduction.once]: no loop from k inwards repeats B for the same elements, as a loop does
///   that B was brought under by compute_at and does not use.
/// Ensures: every element is initialised once before it is updated.
BlockRef decompose_reduction(Schedule &schedule, BlockRef block, Loop loop);

/// The rewrite alone, for lowering: the root with the init of `block` put before `loop`, or where that is null
/// right before the block. `name` makes names that are unique in the program.
Stmt decompose(const Stmt &root, const BlockId &block, const Var &loop, const BlockId &init,
               const std::function<std::string(const std::string &)> &name);

} // namespace nestsmith::primitives
