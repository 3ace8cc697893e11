#include "dsl/schedule/primitives/cache_write.h"

#include "dsl/schedule/primitives/edit.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

constinit const Primitive primitives::cache_write =
    primitive<&Schedule::cache_write>("cache_write", {block("writer"), scope("scope")});

/// Whether the block reads its buffer only at the element that it writes.
static bool reads_own_element(const Block &block) {
  return !block.init && !block.reduces() && std::ranges::all_of(loads_of(block), [&](const Load *load) {
    return load->buffer != block.body.buffer ||
           std::ranges::equal(load->indices, block.body.indices,
                              [](const Expr &a, const Expr &b) { return same(a, b); });
  });
}

BlockRef Schedule::cache_write(BlockRef handle, Scope scope, Caller caller) {
  Edit edit(*this, caller, primitives::cache_write, handle, scope);
  const Block &writer = edit.block(handle);
  Buffer buffer = writer.body.buffer;
  if (scope == Scope::global)
    edit.refuse("cache_write.scope", "got the scope global, expected shared, local or warp: a cache must be in "
                                     "faster memory than its destination");
  // A reduction with its init reads no old value: a computation whose terms do is not well formed.
  const bool updates = buffer->role == Role::inout && !writer.init;
  if (updates && !reads_own_element(writer))
    edit.refuse(
        "cache_write.pure",
        fmt::format(
            "{} is an inout parameter, and block {} is a reduction or reads other elements than the one that "
            "it writes, so the cache would not hold their old values; compute the update in a stage of its "
            "own",
            buffer->name, writer.id->name),
        {writer.id->name});
  const Stmt top = edit.nest_of(writer.id);
  for (const Block *other : writers_of(edit.body(), buffer))
    if (const bool inside = find_block(top, other->id) != nullptr; updates ? other->id != writer.id : !inside)
      edit.refuse("cache_write.writers",
                  fmt::format("block {} also writes {}{}, and would bypass the cache; use cache_write before "
                              "decompose_reduction",
                              other->id->name, buffer->name, inside ? "" : ", in another nest"),
                  {other->id->name, writer.id->name});
  for (const Block *reader : readers_of(top, buffer))
    if (!updates || reader->id != writer.id)
      edit.refuse("cache_write.readers",
                  fmt::format("block {} reads {} in the same nest, before the cache is copied back; use "
                              "cache_write before moving the blocks into one nest",
                              reader->id->name, buffer->name),
                  {reader->id->name});
  require_whole(edit, "cache_write.whole", writer);

  std::string cache_name = edit.name(fmt::format("{}_{}", buffer->name, nestsmith::name(scope)));
  std::string copy_name = edit.result_name(0, fmt::format("{}_writeback", buffer->name));
  auto cache = std::make_shared<const BufferNode>(
      BufferNode{cache_name, buffer->dtype, buffer->shape, scope, Role::temporary});
  Stmt copy = copy_nest(edit, cache, buffer, copy_name, axis_names(writer, buffer, writer.body.indices));
  BlockId copy_id = blocks_of(copy).front()->id;
  Block updated = writer;
  updated.body.buffer = cache;
  const Stmt in_cache = updates ? replace(top, path_to(top, writer.id).back(), make_block(std::move(updated)))
                                : replace_buffer(top, buffer, cache);
  Stmt body = replace(edit.body(), top, in_cache);
  edit.commit(insert_after(body, writer.id, copy), {copy_name});
  return {copy_id};
}

} // namespace nestsmith
