#include "dsl/ir/region.h"
#include "dsl/schedule/primitives/decompose_reduction.h"
#include "lowering/unit.h"

namespace nestsmith {

/// The loop before which the init is placed: the outermost reduction loop of the block. If there is none, each
/// element has one update, and the init is placed before the vectorized or tensorized loop, because such a loop
/// can enclose only one block. Null if there is no such loop either: the init is placed directly before the
/// block.
static Var place_of_init(const Stmt &root, const Block &block) {
  auto loops = loops_of(path_to(root, block.id));
  for (const For *loop : loops)
    for (const IterVar &iter : block.iters)
      if (sums_over(block, iter, loop->var))
        return loop->var;
  for (const For *loop : loops)
    if (loop->over_lanes())
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
