#include "dsl/primitives/cache_read.h"

#include "dsl/primitives/edit.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::primitives {

namespace {

/// The first access to the buffer of this name. None of the accesses to it may have a mask.
const Load &find_read(const Schedule::Edit &edit, const Block &block, const std::string &name) {
  const Load *found = nullptr;
  std::vector<std::string> known;
  for (const Load *access : loads_of(block)) {
    if (std::find(known.begin(), known.end(), access->buffer->name) == known.end())
      known.push_back(access->buffer->name);
    if (access->buffer->name != name)
      continue;
    if (!found)
      found = access;
    if (access->mask.exists())
      edit.refuse("cache_read.unmasked",
                  fmt::format("block {} reads {} under a mask, and an unmasked copy would also read the "
                              "masked-out elements; leave this read uncached",
                              block.id->name, name),
                  {block.id->name});
  }
  if (!found)
    edit.refuse("cache_read.reads",
                fmt::format("block {} does not read '{}'; it reads {}", block.id->name, name,
                            known.empty() ? "nothing" : fmt::format("{}", fmt::join(known, ", "))),
                {block.id->name});
  return *found;
}

/// The top-level statement that contains the block.
Stmt top_of(const Stmt &root, const BlockId &block) {
  Path path = path_to(root, block);
  return path.size() > 1 && as<Seq>(path[0]) ? path[1] : path[0];
}

} // namespace

BlockRef cache_read(Schedule &schedule, BlockRef handle, const std::string &buffer_name, Scope scope) {
  Schedule::Edit edit(schedule, "cache_read",
                      {BlockName{block_name(handle)}, Word{buffer_name}, Word{std::string(name(scope))}});
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
    if (top_of(edit.body(), writer->id) == top_of(edit.body(), reader.id))
      edit.refuse("cache_read.before",
                  fmt::format("block {} writes {} in the nest in which {} reads it, so the copy would precede "
                              "the writes; use cache_read before moving the blocks into one nest",
                              writer->id->name, buffer_name, reader.id->name),
                  {writer->id->name, reader.id->name});

  std::string cache_name = edit.name(fmt::format("{}_{}", buffer_name, name(scope)));
  auto cache = std::make_shared<const BufferNode>(
      BufferNode{cache_name, buffer->dtype, buffer->shape, scope, Role::temporary});
  Stmt copy = copy_nest(edit, buffer, cache, cache_name, axis_names(reader, buffer, access.indices));
  BlockId copy_id = blocks_of(copy).front()->id;
  Stmt old = path_to(edit.body(), reader.id).back();
  Stmt body = replace(edit.body(), old, replace_buffer(old, buffer, cache));
  edit.commit(insert_before(body, reader.id, copy), {cache_name});
  return {copy_id};
}

} // namespace nestsmith::primitives
