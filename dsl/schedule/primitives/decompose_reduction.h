#pragma once
#include "dsl/schedule/primitives/primitive.h"

namespace nestsmith::primitives {

/// decompose_reduction(B, k): moves the init of a reduction to a new block before k.
///
///     for k: for j: [k = 0: init] update     =>     for j: init;     for k: for j: update
///
/// If a schedule does not decompose a reduction, lowering decomposes it at the outermost reduction loop.
///
/// Requires [decompose_reduction.init]: B has an init.
/// Requires [decompose_reduction.encloses]: k encloses B.
/// Requires [decompose_reduction.outermost]: no loop outside of k is a reduction loop of B.
/// Requires [decompose_reduction.order]: no other block accesses an element of a parameter between its init and
///   its first update.
/// Requires [decompose_reduction.once]: neither k nor a loop inside of k repeats B for the same elements. A
///   loop repeats B if `compute_at` placed B inside the loop and no binding of B uses the loop variable.
/// Ensures: every element is initialised exactly once, before its first update.
extern const Primitive decompose_reduction;

/// The rewrite of decompose_reduction without the checks, for lowering. Inserts the init of `block` before
/// `loop`, or directly before the block if `loop` is null. `init` is the identity of the new block. `copy_of`
/// returns the variable for a copy of a loop.
Stmt decompose(const Stmt &root, const BlockId &block, const Var &loop, const BlockId &init,
               FunctionRef<Var(const Var &)> copy_of);
/// The identity of a block for the init of `block`.
BlockId init_symbol(const BlockId &block, const std::string &name);

} // namespace nestsmith::primitives

namespace nestsmith {

/// A loop among `loops`, which are around the block, in whose iterations the block executes the same instances
/// again; none if there is no such loop.
std::optional<Var> find_repeating_loop(const Block &block, const std::vector<const For *> &loops,
                                       const Bounds &bounds);

} // namespace nestsmith
