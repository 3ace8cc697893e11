#include "dsl/schedule/primitives/partition.h"

#include "dsl/expr/conjuncts.h"
#include "dsl/schedule/primitives/edit.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

namespace {

/// Whether a part of the mask compares indices that depend on the loop, so that it may hold in some iterations
/// of the loop and not in others.
bool mask_compares(const Expr &mask, const Block &block, const Var &loop) {
  return std::ranges::any_of(conjuncts_of(mask), [&](const Expr &part) {
    return order_of_indices(part) && uses(in_loops(part, block, {}), loop);
  });
}

/// Whether the kernel has conditions on the loop: guards and masks of blocks, or the conditions by which a
/// pipeline loads nothing in its last iterations.
bool guards(const For &loop) {
  if (std::ranges::any_of(loop.pipeline(), [](const BlockStage &staged) { return staged.stage > 0; }))
    return true;
  for (const Block *block : blocks_of(loop.body)) {
    for (const IterVar &iter : block->iters)
      if (iter.guarded && uses(iter.binding, loop.var))
        return true;
    for (const Load *access : loads_of(*block))
      if (access->mask.exists() && mask_compares(access->mask, *block, loop.var))
        return true;
  }
  return false;
}

} // namespace

constinit const Primitive primitives::partition = primitive<&Schedule::partition>("partition", {loop("loop")});

void Schedule::partition(Loop handle, Caller caller) {
  Edit edit(*this, caller, primitives::partition, handle);
  const For &loop = edit.loop(handle);
  if (loop.partitioned())
    edit.refuse("partition.kind",
                fmt::format("the loop {} is already partitioned; partition it once", loop.var->name),
                {loop.var->name});
  if (loop.axis() && is_thread(*loop.axis()))
    edit.refuse("partition.kind",
                fmt::format("the loop {} is bound to {}, and all threads of a block share one version of the "
                            "code; partition a serial loop or one that is bound to a block axis",
                            loop.var->name, nestsmith::name(*loop.axis())),
                {loop.var->name});
  if (!loop.is<Serial>() && !loop.is<BoundTo>())
    edit.refuse("partition.kind",
                fmt::format("the loop {} is {}, expected a serial loop or one that is bound to a block axis; "
                            "partition the loop around it",
                            loop.var->name, nestsmith::name(loop.form)),
                {loop.var->name});
  if (!guards(loop))
    edit.refuse("partition.guarded",
                fmt::format("no guard of a block below {} depends on it: all its tiles are full for this "
                            "shape, and no mask there compares it; leave the partition out",
                            loop.var->name),
                {loop.var->name});
  For copy = loop;
  if (auto *bound = std::get_if<BoundTo>(&copy.form))
    bound->partitioned = true;
  else
    std::get<Serial>(copy.form).partitioned = true;
  edit.commit(edit.replace_loop(loop, std::move(copy)));
}

} // namespace nestsmith
