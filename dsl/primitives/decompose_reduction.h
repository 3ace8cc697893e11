#pragma once
#include "dsl/schedule.h"

#include <functional>

namespace nestsmith::primitives {

/// decompose_reduction(B, k): moves the init of a reduction to a block of its own before k.
///
///     for k: for j: [k = 0: init] update     =>     for j: init;     for k: for j: update
///
/// Lowering decomposes every remaining reduction at its outermost reduction loop.
///
/// Requires [decompose_reduction.init]: B has an init.
/// Requires [decompose_reduction.encloses]: k encloses B.
/// Requires [decompose_reduction.outermost]: no loop outside of k is a reduction loop of B.
/// Requires [decompose_reduction.order]: no other block accesses an element of a parameter between its init and
///   its first update.
/// Requires [decompose_reduction.once]: neither k nor a loop inside of it repeats B for the same elements. A
///   loop does so if compute_at moved B under it and B does not use it.
/// Ensures: every element is initialised once before it is updated.
BlockRef decompose_reduction(Schedule &schedule, BlockRef block, Loop loop);

/// The rewrite without the checks, for lowering: inserts the init of `block` before `loop`, or directly before
/// the block if `loop` is null. `init` is the identity of the new block. `name` generates names that are unique
/// in the program.
Stmt decompose(const Stmt &root, const BlockId &block, const Var &loop, const BlockId &init,
               const std::function<std::string(const std::string &)> &name);

} // namespace nestsmith::primitives
