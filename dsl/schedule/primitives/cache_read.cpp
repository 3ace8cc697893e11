#include "dsl/schedule/primitives/cache_read.h"

#include "dsl/schedule/primitives/edit.h"
#include "dsl/schedule/primitives/padded_copy.h"
#include "dsl/schedule/primitives/reads.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

namespace {

bool reads_under_mask(const Block &reader, const Buffer &buffer) {
  auto loads = loads_of(reader);
  return std::ranges::any_of(loads,
                             [&](const Load *load) { return load->buffer == buffer && load->mask.exists(); });
}

struct Cached {
  Stmt copy, reader;
};

/// The nest that fills the cache, and the reader that reads it. The cache has the masks and the fills of the
/// reads if they are functions of the element. Otherwise it has the elements of the buffer, and the reader
/// keeps its masks.
Cached cached_read(Schedule::Edit &edit, const Block &reader, const Load &access, const std::string &name,
                   Scope scope) {
  const Buffer &buffer = access.buffer;
  std::vector<std::string> axes = axis_names(reader, buffer, access.indices);
  auto cache =
      std::make_shared<BufferNode>(BufferNode{name, buffer->dtype, buffer->shape, scope, Role::temporary});
  auto padded = reads_under_mask(reader, buffer) ? padded_copy(reader, buffer, axes) : std::nullopt;
  if (!padded)
    return {copy_nest(edit, buffer, cache, name, axes),
            make_block(with_reads(reader, buffer, [&](const Load &read) {
              return nestsmith::load(cache, read.indices, read.mask, read.fill);
            }))};
  cache->shape = padded->shape;
  std::vector<Expr> source;
  for (std::size_t d = 0; d < axes.size(); ++d)
    source.push_back(simplify(Expr(padded->axes[d]) + padded->begin[d]));
  Expr value = load(buffer, std::move(source), padded->mask, padded->fill);
  Block block =
      with_reads(reader, buffer, [&](const Load &read) { return load(cache, padded->indices(read)); });
  return {fill_nest(edit, cache, name, padded->axes, std::move(value)), make_block(std::move(block))};
}

} // namespace

constinit const Primitive primitives::cache_read = primitive<&Schedule::cache_read>(
    "cache_read", {block("reader"), buffer("buffer", "reader"), scope("scope")});

BlockRef Schedule::cache_read(BlockRef handle, const std::string &buffer_name, Scope scope, Caller caller) {
  Edit edit(*this, caller, primitives::cache_read, handle, buffer_name, scope);
  const Block &reader = edit.block(handle);
  const Load &access = find_read(edit, "cache_read.reads", reader, buffer_name);
  Buffer buffer = access.buffer;
  require_cache_scope(edit, "cache_read.scope", scope, buffer);
  const bool in_place = scope == Scope::local && updates_in_place(reader, buffer);
  if (!in_place)
    require_only_read(edit, "cache_read.unwritten", reader, buffer);
  require_complete_before(edit, "cache_read.before", reader, buffer, in_place ? &reader : nullptr);

  if (buffer->role == Role::temporary)
    for (const Block *writer : writers_of(edit.body(), buffer))
      require_whole(edit, "cache_read.whole", *writer);

  std::string cache_name = edit.result_name(0, fmt::format("{}_{}", buffer_name, nestsmith::name(scope)));
  Cached cached = cached_read(edit, reader, access, cache_name, scope);
  BlockId copy_id = blocks_of(cached.copy).front()->id;
  Stmt body = replace(edit.body(), path_to(edit.body(), reader.id).back(), cached.reader);
  edit.commit(insert_before(body, reader.id, cached.copy), {cache_name});
  return {copy_id};
}

} // namespace nestsmith
