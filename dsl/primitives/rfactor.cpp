#include "dsl/primitives/rfactor.h"

#include "dsl/between_nests.h"
#include "dsl/primitives/edit.h"

#include <fmt/format.h>
#include <map>

namespace nestsmith::primitives {

namespace {

/// A sum, and its axis that runs over the loop.
struct Summed {
  const Block &block;
  std::size_t axis;
};

Summed find_sum(const Schedule::Edit &edit, const For &loop) {
  const Block *found = nullptr;
  std::size_t axis = 0;
  for (const Block *block : blocks_of(loop.body))
    for (std::size_t n = 0; n < block->iters.size(); ++n) {
      if (!sums_over(*block, block->iters[n], loop.var))
        continue;
      if (found)
        edit.refuse("rfactor.sum",
                    fmt::format("both {} and {} sum over {}; move one of them to a nest of its own",
                                found->id->name, block->id->name, loop.var->name),
                    {loop.var->name, found->id->name, block->id->name});
      found = block;
      axis = n;
    }
  if (!found)
    edit.refuse("rfactor.sum", fmt::format("no block sums over {}; name a loop of a sum", loop.var->name),
                {loop.var->name});
  if (!found->init)
    edit.refuse(
        "rfactor.sum",
        fmt::format("the init of block {} is a block of its own; use rfactor before decompose_reduction",
                    found->id->name),
        {found->id->name});
  return {*found, axis};
}

/// The distance by which one iteration of the loop advances the axis.
std::int64_t step_of(const Schedule::Edit &edit, const For &loop, const Summed &sum, const Bounds &bounds) {
  std::int64_t step = 0;
  for (std::size_t n = 0; n < sum.block.iters.size(); ++n) {
    const IterVar &iter = sum.block.iters[n];
    for (const Term &term : linearize(iter.binding, bounds).terms) {
      if (!uses(term.digit.base, loop.var))
        continue;
      bool whole = term.digit.base.as<Var>() && term.digit.div == 1 && term.digit.mod == 0;
      if (n != sum.axis || !whole || step != 0)
        edit.refuse("rfactor.part",
                    fmt::format("the loop {} runs over more than the axis {} of block {}, so its iterations "
                                "are not parts of the sum; use rfactor before fuse",
                                loop.var->name, sum.block.iters[sum.axis].var->name, sum.block.id->name),
                    {loop.var->name, sum.block.id->name});
      step = term.coefficient;
    }
  }
  return step;
}

void check_alone(const Schedule::Edit &edit, const Summed &sum) {
  Path path = path_to(edit.body(), sum.block.id);
  const Stmt &nest = path.size() > 1 && as<Seq>(path.front()) ? path[1] : path.front();
  for (const Block *other : blocks_of(nest))
    if (other->id != sum.block.id && touches(*other, sum.block.body.buffer))
      edit.refuse("rfactor.alone",
                  fmt::format("block {} uses {} in the nest of {}, and the sum is complete only after that "
                              "nest; use rfactor before moving the blocks into one nest",
                              other->id->name, sum.block.body.buffer->name, sum.block.id->name),
                  {other->id->name, sum.block.id->name});
}

/// The block that computes the partial sums: the sum with the loop as a new spatial axis in front.
Block partial_sums(const Summed &sum, const For &loop, std::int64_t step, const Buffer &parts,
                   const BlockId &id) {
  Block block = sum.block;
  block.id = id;
  IterVar part{make_var(loop.var->name), loop.extent, IterKind::spatial, Expr(loop.var)};
  IterVar &axis = block.iters[sum.axis];
  Expr start = Expr(part.var) * Expr(step);
  axis.first = axis.first.exists() ? axis.first + start : start;
  std::vector<Expr> indices{Expr(part.var)};
  indices.insert(indices.end(), block.body.indices.begin(), block.body.indices.end());
  block.body = {parts, indices, load(parts, indices) + term_of_sum(sum.block).value()};
  block.init = Store{parts, indices, constant(parts->dtype, 0)}; // the sum of the parts has the init
  block.iters.insert(block.iters.begin(), std::move(part));
  return block;
}

/// The block that adds the partial sums. It keeps the name of the sum.
Block sum_of_parts(const Summed &sum, const For &loop, const Buffer &parts) {
  Block block{sum.block.id, {}, {}, sum.block.body};
  std::map<Var, Expr> renamed;
  for (const IterVar &iter : sum.block.iters)
    if (iter.kind == IterKind::spatial) {
      block.iters.push_back({make_var(iter.var->name), iter.extent, IterKind::spatial, Expr(0)});
      renamed[iter.var] = block.iters.back().var;
    }
  Var part = make_var(loop.var->name);
  block.iters.push_back({part, loop.extent, IterKind::reduction, Expr(0)});
  std::vector<Expr> element, from{Expr(part)};
  for (const Expr &index : sum.block.body.indices) {
    element.push_back(substitute(index, renamed));
    from.push_back(element.back());
  }
  const Buffer &buffer = sum.block.body.buffer;
  block.init = Store{buffer, element, substitute(sum.block.init->value, renamed)};
  block.body = Store{buffer, element, load(buffer, element) + load(parts, from)};
  return block;
}

} // namespace

BlockRef rfactor(Schedule &schedule, Loop handle) {
  Schedule::Edit edit(schedule, "rfactor", {LoopName{loop_name(handle)}});
  const For &loop = edit.loop(handle);
  Summed sum = find_sum(edit, loop);
  edit.require_serial("rfactor.serial", loop);
  Bounds bounds = loop_bounds(edit.body());
  std::int64_t step = step_of(edit, loop, sum, bounds);
  check_alone(edit, sum);

  const Buffer &buffer = sum.block.body.buffer;
  std::string name = edit.name(buffer->name + "_rf");
  std::vector<Expr> shape{loop.extent};
  shape.insert(shape.end(), buffer->shape.begin(), buffer->shape.end());
  auto parts = std::make_shared<const BufferNode>(
      BufferNode{name, buffer->dtype, shape, Scope::global, Role::temporary});
  auto id = std::make_shared<const BlockSymbol>(BlockSymbol{name});

  Block adds_up = sum_of_parts(sum, loop, parts);
  Region whole;
  for (const IterVar &iter : adds_up.iters)
    if (iter.kind == IterKind::spatial)
      whole.push_back({Expr(0), iter.extent});
  Stmt after = nest_over(edit, std::move(adds_up), whole, {});
  Stmt old = path_to(edit.body(), sum.block.id).back();
  Stmt body = replace(edit.body(), old, make_block(partial_sums(sum, loop, step, parts, id)));
  edit.commit(insert_after(body, id, after), {name});
  return {id};
}

} // namespace nestsmith::primitives
