#include "dsl/primitives/cache_write.h"

#include "dsl/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith::primitives {

BlockRef cache_write(Schedule &schedule, BlockRef handle, Scope scope) {
  Schedule::Edit edit(schedule, "cache_write", {BlockName{block_name(handle)}, Word{std::string(name(scope))}});
  const Block &writer = edit.block(handle);
  Buffer buffer = writer.body.buffer;
  if (scope == Scope::global)
    edit.refuse("cache_write.scope",
                "got the scope global, expected shared or local: a cache is to be faster than what it caches");
  if (buffer->role == Role::inout)
    edit.refuse(
        "cache_write.pure",
        fmt::format(
            "{} is an inout parameter whose old content is read, which the cache would not hold; compute "
            "the new part into a stage of its own",
            buffer->name),
        {writer.id->name});
  Path path = path_to(edit.body(), writer.id);
  const Stmt &top = path.size() > 1 && as<Seq>(path[0]) ? path[1] : path[0];
  for (const Block *other : writers_of(edit.body(), buffer))
    if (!find_block(top, other->id))
      edit.refuse("cache_write.writers",
                  fmt::format("block {} also writes {}, in a nest of its own, and would still write there; use "
                              "cache_write before decompose_reduction",
                              other->id->name, buffer->name),
                  {other->id->name, writer.id->name});
  for (const Block *reader : readers_of(top, buffer))
    edit.refuse(
        "cache_write.readers",
        fmt::format(
            "block {} reads {} in the same nest, before the copy would be made; use cache_write before you "
            "bring the two together",
            reader->id->name, buffer->name),
        {reader->id->name});

  std::string cache_name = edit.name(fmt::format("{}_{}", buffer->name, name(scope)));
  std::string copy_name = edit.name(fmt::format("{}_writeback", buffer->name));
  auto cache = std::make_shared<const BufferNode>(
      BufferNode{cache_name, buffer->dtype, buffer->shape, scope, Role::temporary});
  Stmt copy = copy_nest(edit, cache, buffer, copy_name, axis_names(writer, buffer, writer.body.indices));
  BlockId copy_id = blocks_of(copy).front()->id;
  Stmt body = replace(edit.body(), top, replace_buffer(top, buffer, cache));
  edit.commit(insert_after(body, writer.id, copy), {copy_name});
  return {copy_id};
}

} // namespace nestsmith::primitives
