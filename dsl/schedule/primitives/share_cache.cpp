#include "dsl/schedule/primitives/share_cache.h"

#include "dsl/ir/allocation.h"
#include "dsl/schedule/primitives/edit.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith {

namespace {

/// The buffer of which the block copies each element to the same place of its own; null if it does otherwise.
Buffer copied_by(const Block &block) {
  const auto *read = block.body.value.as<Load>();
  if (!read || read->mask.exists() || block.init || block.iters.size() != block.body.indices.size())
    return nullptr;
  for (std::size_t d = 0; d < block.iters.size(); ++d)
    for (const std::vector<Expr> *indices : {&block.body.indices, &read->indices})
      if (indices->size() != block.iters.size() || !same((*indices)[d], Expr(block.iters[d].var)))
        return nullptr;
  return read->buffer;
}

} // namespace

constinit const Primitive primitives::share_cache =
    primitive<&Schedule::share_cache>("share_cache", {block("reader"), block("copy")});

void Schedule::share_cache(BlockRef reader_handle, BlockRef copy_handle, Caller caller) {
  Edit edit(*this, caller, primitives::share_cache, reader_handle, copy_handle);
  const Block &reader = edit.block(reader_handle), &copy = edit.block(copy_handle);
  const std::string &name = copy.id->name;
  const Buffer cache = copy.body.buffer, buffer = copied_by(copy);
  if (!buffer || writers_of(edit.body(), cache).size() != 1)
    edit.refuse(
        "share_cache.copy",
        fmt::format(
            "block {} does not fill its buffer with the elements of another, each at its place and without a "
            "mask; give the block that cache_read returned",
            name),
        {name});
  if (!std::ranges::equal(cache->shape, buffer->shape, same))
    edit.refuse(
        "share_cache.whole",
        fmt::format("block {} copies only a part of {}, which {} may read beyond it; give the block that "
                    "cache_read returned",
                    name, buffer->name, reader.id->name),
        {name});
  // The reader reads what the copy reads, or what it fills.
  bool before = touches(reader, buffer);
  const Buffer from = before ? buffer : cache, to = before ? cache : buffer;
  if (reader.body.buffer == buffer || reader.id == copy.id || !touches(reader, from))
    edit.refuse("share_cache.reads",
                fmt::format("block {} {} {}, expected a block that only reads it", reader.id->name,
                            reader.body.buffer == buffer ? "writes" : "does not read", buffer->name),
                {reader.id->name});

  std::vector<Stmt> nests = nests_of(edit.body());
  auto place = [&](const Block &block) { return std::ranges::find(nests, edit.nest_of(block.id)); };
  auto first = place(copy), last = place(reader);
  if (first >= last || blocks_of(*first).size() != 1)
    edit.refuse(
        "share_cache.whole",
        fmt::format("{} is not in a nest of its own before the nest of {}, so it may lack elements that "
                    "{} reads; use share_cache before compute_at of {}",
                    name, reader.id->name, reader.id->name, name),
        {name, reader.id->name});
  require_whole(edit, "share_cache.whole", copy);
  for (const Block *writer : writers_of(edit.body(), buffer))
    if (auto at = place(*writer); at >= first && at <= last)
      edit.refuse(
          "share_cache.stale",
          fmt::format("block {} writes {} between {} and {}, so the copy may be stale; use cache_read for "
                      "{}",
                      writer->id->name, buffer->name, name, reader.id->name, reader.id->name),
          {writer->id->name, reader.id->name});
  Stmt block = path_to(edit.body(), reader.id).back();
  edit.commit(replace(edit.body(), block, replace_buffer(block, from, to)));
}

} // namespace nestsmith
