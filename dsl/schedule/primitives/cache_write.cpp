#include "dsl/schedule/primitives/cache_write.h"

#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith {

constinit const Primitive primitives::cache_write =
    primitive<&Schedule::cache_write>("cache_write", {block("writer"), scope("scope")});

BlockRef Schedule::cache_write(BlockRef handle, Scope scope, Caller caller) {
  Edit edit(*this, caller, primitives::cache_write, handle, scope);
  const Block &writer = edit.block(handle);
  Buffer buffer = writer.body.buffer;
  if (scope == Scope::global)
    edit.refuse("cache_write.scope", "got the scope global, expected shared, local or warp: a cache must be in "
                                     "faster memory than its destination");
  if (buffer->role == Role::inout)
    edit.refuse("cache_write.pure",
                fmt::format("{} is an inout parameter, and the cache would not hold its old values; compute "
                            "the update in a stage of its own",
                            buffer->name),
                {writer.id->name});
  const Stmt top = edit.nest_of(writer.id);
  for (const Block *other : writers_of(edit.body(), buffer))
    if (!find_block(top, other->id))
      edit.refuse("cache_write.writers",
                  fmt::format("block {} also writes {}, in another nest, and would bypass the cache; use "
                              "cache_write before decompose_reduction",
                              other->id->name, buffer->name),
                  {other->id->name, writer.id->name});
  for (const Block *reader : readers_of(top, buffer))
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
  Stmt body = replace(edit.body(), top, replace_buffer(top, buffer, cache));
  edit.commit(insert_after(body, writer.id, copy), {copy_name});
  return {copy_id};
}

} // namespace nestsmith
