#include "dsl/hardware/async_copy.h"
#include "dsl/hardware/bulk_copy.h"
#include "dsl/hardware/cluster.h"
#include "dsl/hardware/vector_access.h"
#include "dsl/ir/intrinsic.h"
#include "dsl/schedule/makers.h"
#include "dsl/schedule/obligations/rules.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::owed {

namespace {

/// The loops over lanes that do not satisfy their requirements: the calls of a warp, or all others.
std::vector<Obligation> loops_over_lanes(NestFacts &nest, bool calls_of_warps) {
  std::vector<Obligation> found;
  if (!nest.complete) // it has an obligation already
    return found;
  walk(nest.program.body, [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    if (!loop || !loop->over_lanes())
      return true;
    bool of_warp = loop->intrinsic() && loop->intrinsic()->group == Group::warp;
    if (of_warp == calls_of_warps)
      if (auto breach = vector_breach(nest.after_filling(), loop->var, loop->intrinsic(), false))
        found.push_back(about_loop(nest.schedule, loop->var, std::move(breach->message)));
    return false;
  });
  return found;
}

} // namespace

std::vector<Obligation> calls_of_warps(NestFacts &nest) { return loops_over_lanes(nest, true); }

std::vector<Obligation> vectors(NestFacts &nest) { return loops_over_lanes(nest, false); }

std::vector<Obligation> blocks_around_last_block(NestFacts &nest) {
  std::vector<Obligation> found;
  if (nest.lasts.empty())
    return found;
  const Var &marked = nest.lasts.back().loop->var;
  std::vector<const For *> around = loops_of(path_to(nest.program.body, marked));
  walk(nest.program.body, [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    if (loop && loop->axis() && !is_thread(*loop->axis()) && std::ranges::find(around, loop) == around.end())
      found.push_back(about_loop(
          nest.schedule, loop->var,
          fmt::format("the loop {} is bound to {}, but it is not around {}, whose last block continues; bind "
                      "{} to a thread axis, or leave it serial",
                      loop->var->name, name(*loop->axis()), marked->name, loop->var->name)));
    return true;
  });
  return found;
}

std::vector<Obligation> async_copies(NestFacts &nest) {
  std::vector<Obligation> found;
  if (!nest.complete ||
      std::ranges::none_of(nest.blocks, [](const Block *block) { return block->async || block->bulk; }))
    return found;
  Placements &filled = nest.after_filling();
  for (const Block *block : nest.blocks)
    if (block->async || block->bulk) {
      const Block &copy = *find_block(filled.program().body, block->id);
      if (auto message = copy.bulk ? bulk_obligation(filled, copy) : async_obligation(filled, copy))
        found.push_back({std::move(*message),
                         last_change(nest.schedule,
                                     [&](const Program &program) {
                                       const Block *then = find_block(program.body, block->id);
                                       return then && (block->bulk ? then->bulk : then->async);
                                     }),
                         block->id->name});
    }
  return found;
}

std::vector<Obligation> clusters(NestFacts &nest) {
  auto breach = find_cluster_breach(nest.program.body);
  if (!breach)
    return {};
  return {about_block(nest.schedule, breach->block, std::move(breach->message))};
}

} // namespace nestsmith::owed
