#include "dsl/primitives/edit.h"

#include "dsl/printer.h"
#include "dsl/verify.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

Schedule::Edit::Edit(Schedule &schedule, std::string op, std::vector<Argument> arguments)
    : schedule_(schedule), directive_{std::move(op), std::move(arguments), {}} {}

void Schedule::Edit::refuse(const std::string &message, const std::vector<std::string> &culprits) const {
  throw ScheduleError(to_cpp(directive_), message, print_marked(program(), culprits));
}

std::string Schedule::Edit::name(const std::string &wanted) {
  std::string result = schedule_.fresh_name(wanted);
  for (int n = 1; std::find(taken_.begin(), taken_.end(), result) != taken_.end(); ++n)
    result = schedule_.fresh_name(fmt::format("{}_{}", wanted, n));
  taken_.push_back(result);
  return result;
}

void Schedule::Edit::commit(Stmt body, std::vector<std::string> results) {
  Program next = program();
  next.body = std::move(body);
  if (auto breach = find_breach(next))
    internal_error(fmt::format("after {}: {}\n{}", to_cpp(directive_), *breach, print(next)));
  directive_.results = std::move(results);
  schedule_.steps_.push_back(std::move(next));
  schedule_.trace_.push_back(std::move(directive_));
}

const For &Schedule::Edit::loop(Loop handle) const {
  const For *found = find_loop(body(), handle.var);
  if (!found)
    refuse(fmt::format("the loop {} is not in the program any more; a split, fuse or compute_at replaced it: use the "
                       "handles that those returned, or ask loops() again",
                       handle.var->name));
  return *found;
}

const Block &Schedule::Edit::block(BlockRef handle) const {
  const Block *found = find_block(body(), handle.id);
  if (!found)
    refuse(fmt::format("the block {} is not in the program any more; ask block() again", handle.id->name));
  return *found;
}

void Schedule::Edit::require_serial(const For &loop) const {
  if (loop.kind == LoopKind::serial)
    return;
  std::string is = loop.kind == LoopKind::bound ? fmt::format("bound to {}", nestsmith::name(*loop.axis)) : "unrolled";
  refuse(fmt::format("the loop {} is {}, expected a serial loop; do this before it is {}", loop.var->name, is,
                     loop.kind == LoopKind::bound ? "bound" : "unrolled"),
         {loop.var->name});
}

std::string loop_name(const Loop &loop) { return loop.var->name; }

Stmt refresh_bindings(const Stmt &stmt, const Bounds &bounds) {
  const auto *block = as<Block>(stmt);
  if (!block)
    return map_children(stmt, [&](const Stmt &child) { return refresh_bindings(child, bounds); });
  Block copy = *block;
  bool kept = true;
  for (IterVar &iter : copy.iters) {
    Expr binding = simplify(iter.binding, bounds);
    bool guarded = !proves(binding < iter.extent, bounds);
    kept = kept && guarded == iter.guarded && same(binding, iter.binding);
    iter.binding = binding;
    iter.guarded = guarded;
  }
  return kept ? stmt : make_block(std::move(copy));
}

std::vector<const Block *> writers_of(const Stmt &root, const Buffer &buffer) {
  std::vector<const Block *> found = blocks_of(root);
  std::erase_if(found, [&](const Block *block) { return block->body.buffer != buffer; });
  return found;
}

std::vector<const Block *> readers_of(const Stmt &root, const Buffer &buffer) {
  std::vector<const Block *> found = blocks_of(root);
  std::erase_if(found, [&](const Block *block) { return block->body.buffer == buffer || !reads(*block, buffer); });
  return found;
}

Stmt nest_over(Schedule::Edit &edit, Block block, const Region &region, const Bounds &bounds) {
  Bounds inner = bounds;
  std::vector<For> loops;
  std::size_t dimension = 0;
  for (IterVar &iter : block.iters) {
    bool spatial = iter.kind == IterKind::spatial;
    Span span = spatial ? region.at(dimension) : Span{Expr(0), iter.extent};
    std::string wanted = spatial ? fmt::format("ax{}", dimension) : iter.var->name;
    Var var = make_var(edit.name(wanted));
    dimension += spatial;
    inner.set_extent(var, span.extent);
    iter.binding = span.min + Expr(var);
    loops.push_back({var, span.extent, LoopKind::serial, std::nullopt, nullptr});
  }
  Stmt nest = refresh_bindings(make_block(std::move(block)), inner);
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    loop->body = nest;
    nest = make_for(*loop);
  }
  return nest;
}

Stmt copy_nest(Schedule::Edit &edit, const Buffer &from, const Buffer &to, const std::string &name) {
  Block block;
  block.id = std::make_shared<const BlockSymbol>(BlockSymbol{name});
  std::vector<Expr> indices;
  Region whole;
  for (std::size_t n = 0; n < from->shape.size(); ++n) {
    Var var = make_var(fmt::format("v{}", n));
    indices.emplace_back(var);
    block.iters.push_back({var, from->shape[n], IterKind::spatial, Expr(0)});
    whole.push_back({Expr(0), from->shape[n]});
  }
  block.body = Store{to, indices, load(from, indices)};
  return nest_over(edit, std::move(block), whole, {});
}

static Stmt insert(const Stmt &root, const BlockId &anchor, const Stmt &stmt, bool before) {
  std::vector<Stmt> children, result;
  if (const auto *seq = as<Seq>(root))
    children = seq->stmts;
  else
    children = {root};
  for (const Stmt &child : children) {
    bool here = find_block(child, anchor) != nullptr;
    if (here && before)
      result.push_back(stmt);
    result.push_back(child);
    if (here && !before)
      result.push_back(stmt);
  }
  return make_seq(std::move(result));
}

Stmt insert_before(const Stmt &root, const BlockId &anchor, const Stmt &stmt) {
  return insert(root, anchor, stmt, true);
}
Stmt insert_after(const Stmt &root, const BlockId &anchor, const Stmt &stmt) {
  return insert(root, anchor, stmt, false);
}

} // namespace nestsmith
