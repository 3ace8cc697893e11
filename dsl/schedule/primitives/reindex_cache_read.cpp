#include "dsl/schedule/primitives/reindex_cache_read.h"

#include "dsl/schedule/primitives/edit.h"
#include "dsl/schedule/primitives/reads.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace nestsmith {

namespace {

/// The axes that the access uses, in the order of the block.
std::vector<const IterVar *> axes_of(const Block &reader, const Load &access) {
  std::vector<const IterVar *> axes;
  for (const IterVar &iter : reader.iters) {
    auto used = [&](const Expr &e) { return e.exists() && uses(e, iter.var); };
    if (std::ranges::any_of(access.indices, used) || used(access.mask) || used(access.fill))
      axes.push_back(&iter);
  }
  return axes;
}

} // namespace

constinit const Primitive primitives::reindex_cache_read = primitive<&Schedule::reindex_cache_read>(
    "reindex_cache_read", {block("reader"), buffer("buffer", "reader"), scope("scope")});

BlockRef Schedule::reindex_cache_read(BlockRef handle, const std::string &buffer_name, Scope scope,
                                      Caller caller) {
  Edit edit(*this, caller, primitives::reindex_cache_read, handle, buffer_name, scope);
  const Block &reader = edit.block(handle);
  const Load access = find_read(edit, "reindex_cache_read.reads", reader, buffer_name);
  require_cache_scope(edit, "reindex_cache_read.scope", scope, access.buffer);
  // The copy also evaluates the indices and the mask, which may read other buffers.
  Expr value = load(access.buffer, access.indices, access.mask, access.fill);
  walk(value, [&](const Expr &node) {
    const auto *read = node.as<Load>();
    if (!read)
      return;
    require_only_read(edit, "reindex_cache_read.unwritten", reader, read->buffer);
    require_complete_before(edit, "reindex_cache_read.before", reader, read->buffer);
    if (read->buffer->role != Role::temporary)
      return;
    require_whole(edit, "reindex_cache_read.whole", reader);
    for (const Block *writer : writers_of(edit.body(), read->buffer))
      require_whole(edit, "reindex_cache_read.whole", *writer);
  });

  std::string cache_name = edit.result_name(0, fmt::format("{}_{}", buffer_name, nestsmith::name(scope)));
  std::map<Var, Expr> renamed;
  std::vector<Var> axes;
  std::vector<Expr> shape, indices;
  for (const IterVar *iter : axes_of(reader, access)) {
    axes.push_back(make_var(fmt::format("{}_{}", buffer_name, iter->var->name)));
    shape.push_back(iter->extent);
    indices.emplace_back(iter->var);
    renamed.emplace(iter->var, Expr(axes.back()));
  }
  if (axes.empty()) { // an element
    axes.push_back(make_var(fmt::format("{}_0", buffer_name)));
    shape.emplace_back(1);
    indices.emplace_back(0);
  }
  Buffer cache = std::make_shared<const BufferNode>(
      BufferNode{cache_name, access.buffer->dtype, std::move(shape), scope, Role::temporary});
  Stmt copy = fill_nest(edit, cache, cache_name, axes, substitute(value, renamed));
  BlockId copy_id = blocks_of(copy).front()->id;
  Stmt changed = make_block(with_reads(reader, access.buffer, [&](const Load &read) {
    return is_same_access(read, access) ? load(cache, indices)
                                        : load(read.buffer, read.indices, read.mask, read.fill, read.lanes);
  }));
  Stmt body = replace(edit.body(), path_to(edit.body(), reader.id).back(), changed);
  edit.commit(insert_before(body, reader.id, copy), {cache_name});
  return {copy_id};
}

} // namespace nestsmith
