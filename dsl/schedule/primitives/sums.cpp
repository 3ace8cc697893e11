#include "dsl/schedule/primitives/sums.h"

#include <fmt/format.h>

namespace nestsmith {

const Block &find_sum(const Schedule::Edit &edit, const char *requirement, std::string_view directive,
                      const For &loop) {
  const Block *found = nullptr;
  for (const Block *block : blocks_of(loop.body)) {
    if (!is_loop_of_sum(*block, loop.var))
      continue;
    if (found)
      edit.refuse(requirement,
                  fmt::format("both {} and {} sum over {}; move one of them to a nest of its own",
                              found->id->name, block->id->name, loop.var->name),
                  {loop.var->name, found->id->name, block->id->name});
    found = block;
  }
  if (!found)
    edit.refuse(requirement, fmt::format("no block sums over {}; name a loop of a sum", loop.var->name),
                {loop.var->name});
  if (!found->init)
    edit.refuse(requirement,
                fmt::format("the init of block {} is a block of its own; use {} before decompose_reduction",
                            found->id->name, directive),
                {found->id->name});
  return *found;
}

void require_contiguous_ranges(const Schedule::Edit &edit, const char *requirement, std::string_view directive,
                               const Block &sum, const For &loop) {
  if (is_commutative(sum.reducer))
    return;
  for (const For *other : edit.loops_around(sum.id))
    if (other->var == loop.var)
      return;
    else if (as_int(other->extent) != 1 && is_loop_of_sum(sum, other->var))
      edit.refuse(requirement,
                  fmt::format("{0} is not commutative and block {1} also reduces over {2}, which is outside of "
                              "{3}, so the terms of one iteration of {3} are no contiguous range; use {4} "
                              "on {2}, or split {2} into contiguous ranges",
                              name(sum.reducer), sum.id->name, other->var->name, loop.var->name, directive),
                  {other->var->name, loop.var->name, sum.id->name});
}

} // namespace nestsmith
