#include "dsl/schedule/schedule.h"

#include "dsl/expr/expr_text.h"
#include "dsl/hardware/verify.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace nestsmith {

namespace {

/// Loops of two stages may have the same name in the source, but a schedule needs distinct names. The j of a
/// later stage C becomes C_j.
Stmt with_unique_loops(const Stmt &stmt, std::set<std::string> &taken) {
  const auto *loop = as<For>(stmt);
  if (!loop)
    return map_children(stmt, [&](const Stmt &child) { return with_unique_loops(child, taken); });
  std::string unique = loop->var->name, qualified = blocks_of(stmt).front()->id->name + "_" + unique;
  for (int n = 0; !taken.insert(unique).second; ++n)
    unique = n == 0 ? qualified : fmt::format("{}_{}", qualified, n);
  For copy = *loop;
  if (unique != loop->var->name) {
    copy.var = make_var(unique);
    copy.body =
        substitute_loops(copy.body, [&](const Var &var) { return var == loop->var ? Expr(copy.var) : Expr(); });
  }
  copy.body = with_unique_loops(copy.body, taken);
  return make_for(std::move(copy));
}

/// Refuses a name or a handle.
[[noreturn]] void refuse(const Schedule &schedule, const std::string &message) {
  throw UserError(ExitCode::illegal_schedule, message, std::make_shared<const Schedule>(schedule));
}

} // namespace

Schedule::Schedule(Program program, Target target) : target_(std::move(target)) {
  std::set<std::string> taken;
  for (const Buffer &buffer : program.params)
    taken.insert(buffer->name);
  for (const Block *block : blocks_of(program.body))
    taken.insert(block->id->name);
  for (const auto *vars : {&program.scalars, &program.sizes})
    for (const Var &var : *vars)
      taken.insert(var->name);
  program.body = with_unique_loops(program.body, taken);
  if (auto breach = find_breach(program))
    throw UserError(ExitCode::usage,
                    fmt::format("the computation '{}' is not well formed: {}", program.name, *breach));
  steps_.push_back(std::move(program));
}

BlockRef Schedule::block(const std::string &name) const {
  std::string known;
  for (const Block *block : blocks_of(program().body)) {
    if (block->id->name == name)
      return {block->id};
    known += (known.empty() ? "" : ", ") + block->id->name;
  }
  refuse(*this, fmt::format("there is no block '{}'; the blocks are {}", name, known));
}

Loop Schedule::loop(const std::string &name) const {
  std::string known;
  Loop found;
  walk(program().body, [&](const Stmt &stmt) {
    if (const auto *loop = as<For>(stmt)) {
      if (loop->var->name == name)
        found.var = loop->var;
      known += (known.empty() ? "" : ", ") + loop->var->name;
    }
    return true;
  });
  if (!found.var)
    refuse(*this, fmt::format("there is no loop '{}'; the loops are {}", name, known));
  return found;
}

std::string Schedule::name(Loop loop) { return loop.var ? loop.var->name : "(no loop)"; }
std::string Schedule::name(BlockRef block) { return block.id ? block.id->name : "(no block)"; }

std::string Schedule::why_missing(Loop loop) const {
  if (!loop.var)
    return "the handle of a loop is empty; take one from loop(), loops(), or a directive that returns loops";
  bool own = std::any_of(steps_.begin(), steps_.end(),
                         [&](const Program &step) { return find_loop(step.body, loop.var) != nullptr; });
  return own ? fmt::format("the loop {} is no longer in the program; a split, fuse or compute_at replaced it: "
                           "use the handles that the directive returned, or call loops() again",
                           name(loop))
             : fmt::format(
                   "the loop {} belongs to another schedule; take a handle of this one from loop(), loops(), "
                   "or a directive that returns loops",
                   name(loop));
}

std::string Schedule::why_missing(BlockRef block) const {
  if (!block.id)
    return "the handle of a block is empty; take one from block(), or a directive that returns a block";
  bool own = std::any_of(steps_.begin(), steps_.end(),
                         [&](const Program &step) { return find_block(step.body, block.id) != nullptr; });
  return own ? fmt::format("the block {} is no longer in the program; call block() again", name(block))
             : fmt::format(
                   "the block {} belongs to another schedule; take a handle of this one from block(), or a "
                   "directive that returns a block",
                   name(block));
}

std::vector<Loop> Schedule::loops(BlockRef block) const {
  if (!block.id || !find_block(program().body, block.id))
    refuse(*this, why_missing(block));
  std::vector<Loop> handles;
  for (const For *loop : loops_of(path_to(program().body, block.id)))
    handles.push_back({loop->var});
  return handles;
}

std::vector<Loop> Schedule::loops(BlockRef block, std::size_t expected) const {
  std::vector<Loop> handles = loops(block);
  if (handles.size() == expected)
    return handles;
  std::vector<std::string> names;
  for (const Loop &handle : handles)
    names.push_back(name(handle));
  refuse(
      *this,
      fmt::format("block {} has {} loops around it ({}), got loops<{}>; request as many loops as the block has",
                  block.id->name, handles.size(), fmt::join(names, ", "), expected));
}

std::vector<Loop> Schedule::loops_below(BlockRef block, Loop loop) const {
  std::vector<Loop> around = loops(block);
  auto at = std::find_if(around.begin(), around.end(), [&](const Loop &x) { return x.var == loop.var; });
  if (at == around.end() && (!loop.var || !find_loop(program().body, loop.var)))
    refuse(*this, why_missing(loop));
  if (at == around.end())
    refuse(*this, fmt::format("the loop {} does not enclose block {}", name(loop), name(block)));
  return {std::next(at), around.end()};
}

std::vector<BlockRef> Schedule::blocks_below(Loop handle) const {
  const For *loop = handle.var ? find_loop(program().body, handle.var) : nullptr;
  if (!loop)
    refuse(*this, why_missing(handle));
  std::vector<BlockRef> below;
  for (const Block *block : blocks_of(loop->body))
    below.push_back({block->id});
  return below;
}

std::int64_t Schedule::extent(Loop handle) const {
  const For *loop = handle.var ? find_loop(program().body, handle.var) : nullptr;
  if (!loop)
    refuse(*this, why_missing(handle));
  if (auto extent = as_int(loop->extent))
    return *extent;
  refuse(*this, fmt::format("the loop {} has {} iterations, a number known only at launch; query the extent "
                            "of a loop inside of a tile",
                            name(handle), to_string(loop->extent)));
}

} // namespace nestsmith
