#include "dsl/error.h"
#include "dsl/primitives/decompose_reduction.h"
#include "dsl/region.h"
#include "lowering/unit.h"

#include <algorithm>

namespace nestsmith {

/// The outermost loop that the block sums over, or else its innermost loop.
static Var outermost_summed(const Stmt &root, const Block &block) {
  auto loops = loops_of(path_to(root, block.id));
  for (const For *loop : loops)
    for (const IterVar &iter : block.iters)
      if (sums_over(block, iter, loop->var))
        return loop->var;
  internal_check(!loops.empty(), "a reduction stands in no loop");
  return loops.back()->var;
}

void lower_init(Unit &unit) {
  Stmt before = unit.program.body; // keeps the blocks alive
  for (const Block *block : blocks_of(before)) {
    if (!block->init)
      continue;
    auto init = std::make_shared<const BlockSymbol>(BlockSymbol{block->id->name + "_init"});
    Var at = outermost_summed(unit.program.body, *block);
    unit.program.body = primitives::decompose(unit.program.body, block->id, at, init,
                                              [](const std::string &wanted) { return wanted; });
  }
}

} // namespace nestsmith
