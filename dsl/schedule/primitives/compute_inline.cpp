#include "dsl/schedule/primitives/compute_inline.h"

#include "dsl/expr/expr_limits.h"
#include "dsl/expr/expr_text.h"
#include "dsl/hardware/match.h"
#include "dsl/hardware/vector_access.h"
#include "dsl/schedule/primitives/inline.h"
#include "dsl/schedule/primitives/move.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

namespace {

void check_definition(const Schedule::Edit &edit, const Block &block) {
  const Buffer &buffer = block.body.buffer;
  const std::string &name = block.id->name;
  if (buffer->role != Role::temporary)
    edit.refuse(
        "compute_inline.temporary",
        fmt::format("block {} writes {}, a parameter that the caller receives; only a temporary can be inlined",
                    name, buffer->name),
        {name});
  bool reduces = std::any_of(block.iters.begin(), block.iters.end(),
                             [](const IterVar &iter) { return iter.kind == IterKind::reduction; });
  if (reduces || writers_of(edit.body(), buffer).size() > 1)
    edit.refuse("compute_inline.elementwise",
                fmt::format("block {} is part of a sum, which each reader would recompute; move it to its "
                            "readers with compute_at",
                            name),
                {name});
  if (!is_plain(block, buffer, block.body.indices))
    edit.refuse("compute_inline.index",
                fmt::format("block {} does not index {} by exactly its own axes, each once and over its whole "
                            "extent, so an element has no single defining expression; use compute_at",
                            name, buffer->name),
                {name});
  if (readers_of(edit.body(), buffer).empty())
    edit.refuse("compute_inline.read",
                fmt::format("no block reads {}, so there is no reader to inline it into", buffer->name),
                {name});
  for (const Load *access : loads_of(block))
    if (const Block *writer = writer_after(edit.body(), access->buffer, block.id))
      edit.refuse("compute_inline.inputs",
                  fmt::format("block {} reads {}, which {} overwrites later, so an inlined read could see the "
                              "new values; keep {} in a temporary",
                              name, access->buffer->name, writer->id->name, buffer->name),
                  {name, writer->id->name});
}

/// Replaces the loads of the temporary in the statement with its definition.
Stmt inlined(const Schedule::Edit &edit, const Stmt &stmt, const Block &definition) {
  const auto *block = as<Block>(stmt);
  if (!block)
    return map_children(stmt, [&](const Stmt &child) { return inlined(edit, child, definition); });
  if (!reads(*block, definition.body.buffer))
    return stmt;
  auto element = [&](const Load &access) {
    Values values;
    for (const IterVar &iter : definition.iters)
      for (std::size_t d = 0; d < access.indices.size(); ++d)
        if (same(definition.body.indices[d], Expr(iter.var)))
          values[iter.var] = access.indices[d];
    return masked(substitute(definition.body.value, values), access.mask, access.fill);
  };
  auto rewrite = [&](Store &store) {
    store.value = replace_loads(store.value, definition.body.buffer, element);
    for (Expr &index : store.indices)
      index = replace_loads(index, definition.body.buffer, element);
  };
  Block copy = *block;
  rewrite(copy.body);
  if (copy.init)
    rewrite(*copy.init);
  if (auto reason = too_large(copy.body.value))
    edit.refuse(
        "compute_inline.limits",
        fmt::format("with {} in it, the value of block {} {}", definition.id->name, block->id->name, *reason),
        {definition.id->name, block->id->name});
  return make_block(std::move(copy));
}

/// A constant operand, for example, is folded into the rest of the value, which then has another form.
void check_intrinsics(const Schedule::Edit &edit, const Stmt &body, const Block &definition) {
  Bounds bounds = loop_bounds(body);
  walk(body, [&](const Stmt &stmt) {
    const auto *loop = as<For>(stmt);
    if (!loop || !loop->intrinsic())
      return true;
    const Block &reader = *only_block(*loop);
    auto nest = nest_below(*loop, bounds);
    if (!nest || !match(*loop->intrinsic(), *nest, bounds))
      edit.refuse(
          "compute_inline.intrinsic",
          fmt::format("with {} in it, block {} would compute {} in each iteration of {}, which is not the "
                      "meaning of {}; inline {} before, and leave {} serial",
                      definition.id->name, reader.id->name, to_string(reader.body.value), loop->var->name,
                      loop->intrinsic()->name, definition.id->name, loop->var->name),
          {definition.id->name, reader.id->name});
    return false;
  });
}

} // namespace

constinit const Primitive primitives::compute_inline =
    primitive<&Schedule::compute_inline>("compute_inline", {block("block")});

void Schedule::compute_inline(BlockRef handle, Caller caller) {
  Edit edit(*this, caller, primitives::compute_inline, handle);
  const Block &block = edit.block(handle);
  check_definition(edit, block);
  Stmt body = inlined(edit, remove_block(edit.body(), block.id), block);
  check_intrinsics(edit, body, block);
  edit.commit(std::move(body));
}

} // namespace nestsmith
