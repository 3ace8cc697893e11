#include "dsl/schedule/primitives/pipeline.h"

#include "dsl/hardware/async_copy.h"
#include "dsl/ir/pipeline.h"
#include "dsl/schedule/primitives/edit.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace nestsmith {

namespace {

void check_names(const Schedule::Edit &edit, const std::vector<Stage> &stages) {
  std::set<BlockId> seen;
  for (const Stage &stage : stages) {
    edit.block(stage.block);
    if (!seen.insert(stage.block.id).second)
      edit.refuse("pipeline.blocks",
                  fmt::format("block {} is named twice; name every block once", stage.block.id->name),
                  {stage.block.id->name});
  }
}

void check_stages(const Schedule::Edit &edit, const For &loop, const std::vector<StagedNest> &nests) {
  std::set<std::int64_t> stages, orders;
  for (const StagedNest &nest : nests) {
    stages.insert(nest.stage);
    if (!orders.insert(nest.order).second || nest.order < 0 ||
        nest.order >= static_cast<std::int64_t>(nests.size()))
      edit.refuse("pipeline.orders",
                  fmt::format("the {} nests below {} have the order {} twice or out of range, expected each "
                              "number from 0 to {} once",
                              nests.size(), loop.var->name, nest.order, nests.size() - 1),
                  {blocks_of(nest.stmt).front()->id->name});
  }
  auto only_issues = [&](std::int64_t stage) { // asynchronous copies continue in the stages after it
    return std::ranges::all_of(
        nests, [&](const StagedNest &nest) { return nest.stage != stage || is_async_nest(nest.stmt); });
  };
  std::int64_t expected = 0;
  bool copies = false; // the stage before `expected` only issues asynchronous copies
  for (std::int64_t stage : stages) {
    if (stage != expected && !(copies && stage > expected))
      edit.refuse(
          "pipeline.stages",
          fmt::format("got the stage {}, but no nest has the stage {}; number the stages from 0 without a gap: "
                      "the {} nests below {} have at most {} stages. For one more stage, fetch a tile through "
                      "registers with cache_read(…, Scope::local) and compute_at, and give the nest that reads "
                      "the registers the next stage and a lower order; or use async_copy for all blocks of the "
                      "stage before",
                      stage, expected, nests.size(), loop.var->name, nests.size()),
          {loop.var->name});
    expected = stage + 1;
    copies = only_issues(stage);
  }
  if (stages.size() < 2)
    edit.refuse("pipeline.stages",
                fmt::format("all blocks below {} have stage 0, so nothing would overlap; give the readers of "
                            "the tiles a later stage than the writers",
                            loop.var->name),
                {loop.var->name});
}

} // namespace

constinit const Primitive primitives::pipeline =
    primitive<&Schedule::pipeline>("pipeline", {loop_of_nests("loop"), stages("stages", "loop")});

void Schedule::pipeline(Loop handle, std::vector<Stage> stages, Caller caller) {
  Edit edit(*this, caller, primitives::pipeline, handle, stages);
  const For &loop = edit.loop(handle);
  if (!loop.is<Unrolled>() || !loop.pipeline().empty())
    edit.require_serial("pipeline.serial", loop);
  check_names(edit, stages);
  std::vector<BlockStage> staged;
  for (const Stage &stage : stages)
    staged.push_back({stage.block.id, stage.stage, stage.order});
  Program next = edit.program();
  Stmt made = make_for(with_pipeline(loop, std::move(staged)));
  next.body = edit.replace_loop(loop, made);
  auto breach = find_pipeline_breach(next, *as<For>(made));
  // Check stages and orders only if every nest has its own, and report broken dependences only after that.
  if (!breach || breach->in_steps)
    check_stages(edit, loop, staged_nests(*as<For>(made)));
  if (breach)
    edit.refuse(breach->requirement, breach->message, breach->culprits);
  edit.commit(next.body);
}

} // namespace nestsmith
