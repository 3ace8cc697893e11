#include "dsl/schedule/primitives/reads.h"

#include "dsl/schedule/primitives/inline.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

namespace nestsmith {

const Load &find_read(const Schedule::Edit &edit, const char *requirement, const Block &block,
                      const std::string &name) {
  const Load *found = nullptr;
  std::vector<std::string> known;
  for (const Load *access : loads_of(block)) {
    if (std::find(known.begin(), known.end(), access->buffer->name) == known.end())
      known.push_back(access->buffer->name);
    if (!found && access->buffer->name == name)
      found = access;
  }
  if (!found)
    edit.refuse(requirement,
                fmt::format("block {} does not read '{}'; it reads {}", block.id->name, name,
                            known.empty() ? "nothing" : fmt::format("{}", fmt::join(known, ", "))),
                {block.id->name});
  return *found;
}

void require_cache_scope(const Schedule::Edit &edit, const char *requirement, Scope scope,
                         const Buffer &source) {
  if (scope == Scope::global && source->scope != Scope::global)
    edit.refuse(requirement,
                fmt::format("got the scope global for a copy of {}, which is {}, expected shared, local or "
                            "warp: a copy must not be in slower memory than its source",
                            source->name, name(source->scope)));
}

bool updates_in_place(const Block &block, const Buffer &buffer) {
  if (block.body.buffer != buffer || buffer->role == Role::temporary || block.init || block.reduces() ||
      block.atomic)
    return false;
  const std::vector<Expr> &indices = block.body.indices;
  const bool each_once = std::ranges::all_of(block.iters, [&](const IterVar &iter) {
    return std::ranges::any_of(indices, [&](const Expr &index) {
      const auto axis = as_shifted_var(index); // of a part of the rows, it begins at a constant
      return axis && axis->var == iter.var;
    });
  });
  return each_once && std::ranges::all_of(loads_of(block), [&](const Load *access) {
           return access->buffer != buffer ||
                  std::ranges::equal(access->indices, indices,
                                     [](const Expr &a, const Expr &b) { return same(a, b); });
         });
}

void require_only_read(const Schedule::Edit &edit, const char *requirement, const Block &reader,
                       const Buffer &buffer) {
  if (reader.body.buffer == buffer)
    edit.refuse(requirement,
                fmt::format("block {} also writes {}, so a copy made before it would be stale; use cache_write",
                            reader.id->name, buffer->name),
                {reader.id->name});
}

void require_complete_before(const Schedule::Edit &edit, const char *requirement, const Block &reader,
                             const Buffer &buffer, const Block *except) {
  std::string_view tag = requirement;
  for (const Block *writer : writers_of(edit.body(), buffer))
    if (writer != except && edit.nest_of(writer->id) == edit.nest_of(reader.id))
      edit.refuse(requirement,
                  fmt::format("block {} writes {} in the nest in which {} reads it, so the copy would precede "
                              "the writes; use {} before moving the blocks into one nest",
                              writer->id->name, buffer->name, reader.id->name, tag.substr(0, tag.find('.'))),
                  {writer->id->name, reader.id->name});
}

Block map_expressions(Block block, const std::function<Expr(const Expr &)> &f) {
  auto rewrite = [&](Store &store) {
    store.value = f(store.value);
    for (Expr &index : store.indices)
      index = f(index);
  };
  rewrite(block.body);
  if (block.init)
    rewrite(*block.init);
  return block;
}

Block with_reads(const Block &block, const Buffer &buffer, const std::function<Expr(const Load &)> &f) {
  return map_expressions(block, [&](const Expr &e) { return replace_loads(e, buffer, f); });
}

} // namespace nestsmith
