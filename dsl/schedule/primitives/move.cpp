#include "dsl/schedule/primitives/move.h"

#include "dsl/ir/dependence.h"
#include "dsl/ir/parts.h"

#include <fmt/format.h>

namespace nestsmith {

void require_plain_nest(Schedule::Edit &edit, const char *requirement, const Block &block) {
  for (const Stmt &stmt : path_to(edit.body(), block.id)) {
    const auto *loop = as<For>(stmt);
    if (!loop || blocks_of(loop->body).size() > 1)
      continue;
    if (!loop->is<Serial>())
      edit.refuse(requirement,
                  fmt::format("the loop {} of block {} is {}, which would be lost because this directive "
                              "rebuilds the loops; bind and unroll afterwards",
                              loop->var->name, block.id->name, form_of(*loop)),
                  {loop->var->name});
    edit.require_serial(requirement, *loop);
    edit.release(stmt);
  }
}

void require_no_part(const Schedule::Edit &edit, const char *requirement, const Block &block) {
  std::string_view tag = requirement;
  auto counts_own_elements = [&](const IterVar &iter) {
    const Var *var = iter.binding.as<Var>();
    const For *loop = var ? find_loop(edit.body(), *var) : nullptr;
    return loop && same(loop->extent, iter.extent);
  };
  // Another part of a reduction may combine its terms with the same elements.
  bool alone = !block.reduces() || writers_of(edit.body(), block.body.buffer).size() == 1;
  if (alone && std::ranges::all_of(block.iters, counts_own_elements))
    return;
  if (const Block *part = other_part(edit.body(), block))
    edit.refuse(
        requirement,
        fmt::format("block {0} is one of the parts that cut made, beside {1}, but {2} would compute the "
                    "elements of all parts; use {2} before cut",
                    block.id->name, part->id->name, tag.substr(0, tag.find('.'))),
        {block.id->name});
}

Stmt remove_block(const Stmt &root, const BlockId &id) {
  if (const auto *block = as<Block>(root))
    return block->id == id ? nullptr : root;
  return map_children(root, [&](const Stmt &child) { return remove_block(child, id); });
}

Stmt insert_into(const Stmt &root, const Var &var, const Stmt &stmt,
                 const std::function<bool(const Stmt &)> &here) {
  Stmt old = path_to(root, var).back();
  For loop = *as<For>(old);
  std::vector<Stmt> children, result;
  if (const auto *seq = as<Seq>(loop.body))
    children = seq->stmts;
  else
    children = {loop.body};
  bool placed = false;
  for (const Stmt &child : children) {
    if (!placed && here(child)) {
      result.push_back(stmt);
      placed = true;
    }
    result.push_back(child);
  }
  if (!placed)
    result.push_back(stmt);
  loop.body = make_seq(std::move(result));
  return replace(root, old, make_for(std::move(loop)));
}

void require_kept_order(const Schedule::Edit &edit, const char *requirement, const BlockId &moved,
                        const Stmt &after, const BlockId &now, const std::string &place) {
  auto broken = broken_by_move(edit.body(), moved, after, now);
  if (!broken)
    return;
  auto verb = [&](const BlockId &id) { return access_verb(*find_block(edit.body(), id), broken->buffer); };
  edit.refuse(requirement,
              fmt::format("block {} {} {}, and block {} {} it later; with {} at {} this order is not kept for "
                          "all elements; leave {} where it is, or compute into another tensor",
                          broken->first->name, verb(broken->first), broken->buffer->name, broken->second->name,
                          verb(broken->second), now->name, place, moved->name),
              {broken->first->name, broken->second->name});
}

} // namespace nestsmith
