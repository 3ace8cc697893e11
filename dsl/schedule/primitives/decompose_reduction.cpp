#include "dsl/schedule/primitives/decompose_reduction.h"

#include "dsl/schedule/primitives/loop_names.h"
#include "dsl/schedule/primitives/move.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace nestsmith {

namespace {

/// In a pipelined loop around both, the init runs in the stage of its update, just before it.
Stmt with_stage_of(const Stmt &stmt, const BlockId &update, const BlockId &init) {
  const auto *loop = as<For>(stmt);
  if (!loop || !find_block(loop->body, init))
    return find_block(stmt, init)
               ? map_children(stmt, [&](const Stmt &child) { return with_stage_of(child, update, init); })
               : stmt;
  For copy = *loop;
  copy.body = with_stage_of(loop->body, update, init);
  for (const BlockStage &x : loop->pipeline())
    if (x.block == update) {
      std::vector<BlockStage> stages = loop->pipeline();
      stages.push_back({init, x.stage, x.order});
      return make_for(with_pipeline(std::move(copy), std::move(stages)));
    }
  return make_for(std::move(copy));
}

/// The form without pipelining and partitioning.
LoopForm plain(const LoopForm &form) {
  return std::visit(Overloaded{
                        [](const Serial &) -> LoopForm { return Serial{}; },
                        [](const Unrolled &) -> LoopForm { return Unrolled{}; },
                        [](const Vectorized &x) -> LoopForm { return x; },
                        [](const Tensorized &x) -> LoopForm { return x; },
                        [](const BoundTo &x) -> LoopForm { return BoundTo{x.axis}; },
                    },
                    form);
}

} // namespace

Stmt primitives::decompose(const Stmt &root, const BlockId &id, const Var &at, const BlockId &init_id,
                           FunctionRef<Var(const Var &)> copy_of) {
  Path path = path_to(root, id);
  const Block &block = *as<Block>(path.back());

  Block init;
  init.id = init_id;
  init.body = *block.init;
  for (const IterVar &iter : block.iters)
    if (iter.kind == IterKind::spatial)
      init.iters.push_back(iter);

  // Make fresh copies of the loops from `at` inwards that a spatial axis uses.
  Stmt at_stmt = at ? path_to(root, at).back() : path.back();
  std::vector<For> copies;
  std::map<Var, Expr> renamed;
  bool inside = false;
  for (const For *loop : loops_of(path)) {
    inside = inside || loop->var == at;
    if (!inside)
      continue;
    bool used = false;
    for (const IterVar &iter : init.iters)
      used = used || uses(iter.binding, loop->var);
    if (!used)
      continue;
    For copy = *loop;
    copy.form = plain(loop->form);
    copy.var = copy_of(loop->var);
    renamed[loop->var] = copy.var;
    copies.push_back(std::move(copy));
  }
  Stmt nest = substitute_loops(make_block(std::move(init)), [&](const Var &var) {
    auto it = renamed.find(var);
    return it == renamed.end() ? Expr() : it->second;
  });
  for (auto loop = copies.rbegin(); loop != copies.rend(); ++loop) {
    loop->body = nest;
    nest = make_for(*loop);
  }
  Block update = block;
  update.init.reset();
  Stmt updated = replace(at_stmt, path.back(), make_block(std::move(update)));
  return with_stage_of(replace(root, at_stmt, make_seq({nest, updated})), id, init_id);
}

BlockId primitives::init_symbol(const BlockId &block, const std::string &name) {
  return std::make_shared<const BlockSymbol>(
      BlockSymbol{.name = name, .part_of = block->part_of ? block->part_of : block});
}

std::optional<Var> find_repeating_loop(const Block &block, const std::vector<const For *> &loops,
                                       const Bounds &bounds) {
  std::vector<Expr> bindings;
  for (const IterVar &iter : block.iters)
    bindings.push_back(iter.binding);
  auto outside = [&](const Var &var) { return std::ranges::find(loops, var, &For::var) == loops.end(); };
  for (const For *loop : loops)
    if (!determine(bindings, {loop->var}, outside, bounds))
      return loop->var;
  return std::nullopt;
}

constinit const Primitive primitives::decompose_reduction = primitive<&Schedule::decompose_reduction>(
    "decompose_reduction", {block("block"), near_loop("loop", "block")});

BlockRef Schedule::decompose_reduction(BlockRef handle, Loop at, Caller caller) {
  Edit edit(*this, caller, primitives::decompose_reduction, handle, at);
  const Block &block = edit.block(handle);
  const For &loop = edit.loop(at);
  if (!block.init)
    edit.refuse("decompose_reduction.init",
                fmt::format("block {} has no init, expected a sum that is not yet decomposed", block.id->name),
                {block.id->name});
  if (!find_block(loop.body, block.id))
    edit.refuse("decompose_reduction.encloses",
                fmt::format("the loop {} does not enclose block {}; name a loop around the block",
                            loop.var->name, block.id->name),
                {loop.var->name, block.id->name});
  for (const For *outer : edit.loops_around(loop.var))
    if (outer->var != loop.var && is_loop_of_sum(block, outer->var))
      edit.refuse("decompose_reduction.outermost",
                  fmt::format("block {} sums over {}, a loop outside of {}, so the init would run again in "
                              "each iteration of the outer loop; decompose at {}",
                              block.id->name, outer->var->name, loop.var->name, outer->var->name),
                  {outer->var->name, loop.var->name});
  std::vector<const For *> inner = edit.loops_around(block.id);
  std::erase_if(inner,
                [&](const For *other) { return other->var != loop.var && !find_loop(loop.body, other->var); });
  if (auto again = find_repeating_loop(block, inner, loop_bounds(edit.body())))
    edit.refuse("decompose_reduction.once",
                fmt::format("block {} is recomputed in each iteration of {}, and without its init would add "
                            "to the same elements again; decompose at a loop inside of {}",
                            block.id->name, (*again)->name, (*again)->name),
                {(*again)->name, block.id->name});
  BlockId init = primitives::init_symbol(block.id, edit.result_name(0, fmt::format("{}_init", block.id->name)));
  Stmt body = primitives::decompose(edit.body(), block.id, loop.var, init,
                                    [&](const Var &copied) { return copied_loop(edit, copied, "_init"); });
  require_kept_order(edit, "decompose_reduction.order", block.id, body, init, loop.var->name);
  edit.commit(body, {init->name});
  return {init};
}

} // namespace nestsmith
