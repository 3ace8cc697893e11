#include "dsl/ir/region.h"
#include "dsl/schedule/obligations/rules.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace nestsmith::owed {

Owed place_for_init(NestFacts &nest, const Block &block) {
  auto loops = nest.loops_around(block);
  auto first = std::find_if(loops.begin(), loops.end(), [&](const For *loop) {
    return std::any_of(block.iters.begin(), block.iters.end(),
                       [&](const IterVar &iter) { return sums_over(block, iter, loop->var); });
  });
  if (!block.init || first == loops.end())
    return std::nullopt;
  std::set<Var> inside;
  std::for_each(first, loops.end(), [&](const For *loop) { inside.insert(loop->var); });
  std::vector<Expr> bindings;
  for (const IterVar &iter : block.iters)
    bindings.push_back(iter.binding);
  auto outside = [&](const Var &var) { return inside.count(var) == 0; };
  if (determine(bindings, {inside.begin(), inside.end()}, outside, nest.bounds))
    return std::nullopt;
  for (auto loop = first; loop != loops.end(); ++loop)
    if (!determine(bindings, {(*loop)->var}, outside, nest.bounds))
      return about_block(
          nest.schedule, block.id,
          fmt::format("block {} sums over {} and is recomputed in iterations of {}, so there is no place for "
                      "its init; do not fuse a loop of the sum with a loop that only repeats it",
                      block.id->name, (*first)->var->name, (*loop)->var->name));
  return std::nullopt;
}

} // namespace nestsmith::owed
