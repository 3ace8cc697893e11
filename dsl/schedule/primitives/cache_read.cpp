#include "dsl/schedule/primitives/cache_read.h"

#include "dsl/schedule/primitives/edit.h"
#include "dsl/schedule/primitives/inline.h"
#include "dsl/schedule/primitives/padded_copy.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

namespace {

/// The first access to the buffer of this name.
const Load &find_read(const Schedule::Edit &edit, const Block &block, const std::string &name) {
  const Load *found = nullptr;
  std::vector<std::string> known;
  for (const Load *access : loads_of(block)) {
    if (std::find(known.begin(), known.end(), access->buffer->name) == known.end())
      known.push_back(access->buffer->name);
    if (!found && access->buffer->name == name)
      found = access;
  }
  if (!found)
    edit.refuse("cache_read.reads",
                fmt::format("block {} does not read '{}'; it reads {}", block.id->name, name,
                            known.empty() ? "nothing" : fmt::format("{}", fmt::join(known, ", "))),
                {block.id->name});
  return *found;
}

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
            replace_buffer(path_to(edit.body(), reader.id).back(), buffer, cache)};
  cache->shape = padded->shape;
  std::vector<Expr> source;
  for (std::size_t d = 0; d < axes.size(); ++d)
    source.push_back(simplify(Expr(padded->axes[d]) + padded->begin[d]));
  Expr value = load(buffer, std::move(source), padded->mask, padded->fill);
  Block block = reader;
  auto rewrite = [&](Store &store) {
    auto from_cache = [&](const Load &read) { return load(cache, padded->indices(read)); };
    store.value = replace_loads(store.value, buffer, from_cache);
    for (Expr &index : store.indices)
      index = replace_loads(index, buffer, from_cache);
  };
  rewrite(block.body);
  if (block.init)
    rewrite(*block.init);
  return {fill_nest(edit, cache, name, padded->axes, std::move(value)), make_block(std::move(block))};
}

} // namespace

constinit const Primitive primitives::cache_read = primitive<&Schedule::cache_read>(
    "cache_read", {block("reader"), buffer("buffer", "reader"), scope("scope")});

BlockRef Schedule::cache_read(BlockRef handle, const std::string &buffer_name, Scope scope, Caller caller) {
  Edit edit(*this, caller, primitives::cache_read, handle, buffer_name, scope);
  const Block &reader = edit.block(handle);
  const Load &access = find_read(edit, reader, buffer_name);
  Buffer buffer = access.buffer;
  if (scope == Scope::global)
    edit.refuse("cache_read.scope", "got the scope global, expected shared, local or warp: a cache must be in "
                                    "faster memory than its source");
  if (reader.body.buffer == buffer)
    edit.refuse("cache_read.unwritten",
                fmt::format("block {} also writes {}, so a copy made before it would be stale; use cache_write",
                            reader.id->name, buffer_name),
                {reader.id->name});
  for (const Block *writer : writers_of(edit.body(), buffer))
    if (edit.nest_of(writer->id) == edit.nest_of(reader.id))
      edit.refuse("cache_read.before",
                  fmt::format("block {} writes {} in the nest in which {} reads it, so the copy would precede "
                              "the writes; use cache_read before moving the blocks into one nest",
                              writer->id->name, buffer_name, reader.id->name),
                  {writer->id->name, reader.id->name});

  if (buffer->role == Role::temporary && reads_under_mask(reader, buffer))
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
