#include "dsl/ir/region.h"
#include "dsl/schedule/primitives/decompose_reduction.h"
#include "lowering/unit.h"

#include <algorithm>

namespace nestsmith {

/// The loop before which the init is placed: the outermost reduction loop of the block, or the vectorized or
/// tensorized loop outside of it, because such a loop can enclose only one block. A vectorized loop encloses no
/// reduction loops but those of one iteration. Null if there is no such loop: the init is placed directly
/// before the block.
static Var place_of_init(const Stmt &root, const Block &block) {
  for (const For *loop : loops_of(path_to(root, block.id)))
    if (loop->over_lanes() || std::ranges::any_of(block.iters, [&](const IterVar &iter) {
          return sums_over(block, iter, loop->var);
        }))
      return loop->var;
  return nullptr;
}

void lower_init(Unit &unit) {
  Stmt before = unit.program().body; // keeps the blocks alive
  for (const Block *block : blocks_of(before)) {
    if (!block->init)
      continue;
    auto init = std::make_shared<const BlockSymbol>(BlockSymbol{block->id->name + "_init", block->id});
    Var at = place_of_init(unit.program().body, *block);
    unit.program().body = primitives::decompose(unit.program().body, block->id, at, init, [&](const Var &loop) {
      Var copy = make_var_like(*loop);
      unit.copied_from[copy] = loop;
      return copy;
    });
  }
}

} // namespace nestsmith
