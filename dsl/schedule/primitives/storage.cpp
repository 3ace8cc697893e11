#include "dsl/schedule/primitives/storage.h"

#include <fmt/format.h>

namespace nestsmith {

const Buffer &require_temporary(const Schedule::Edit &edit, const char *requirement, const Block &block) {
  const Buffer &buffer = block.body.buffer;
  if (buffer->role != Role::temporary)
    edit.refuse(requirement,
                fmt::format("block {} writes {}, a parameter whose layout the caller fixes; name the writer of "
                            "a temporary, such as a cache",
                            block.id->name, buffer->name),
                {block.id->name});
  return buffer;
}

void require_shared(const Schedule::Edit &edit, const char *requirement, const Block &block,
                    const std::string &what) {
  const Buffer &buffer = block.body.buffer;
  if (buffer->scope != Scope::shared)
    edit.refuse(
        requirement,
        fmt::format(
            "{} is in {} memory, but {} applies to shared memory only; use set_scope or cache_read first",
            buffer->name, name(buffer->scope), what),
        {block.id->name});
}

Layout layout_of(const Buffer &buffer) { return buffer->layout ? *buffer->layout : Layout{}; }

std::size_t physical_rank(const Buffer &buffer) {
  Layout layout = layout_of(buffer);
  return layout.map ? layout.map->physical().size() : buffer->shape.size();
}

void commit_layout(Schedule::Edit &edit, const Buffer &buffer, Layout layout) {
  BufferNode node = *buffer;
  node.layout = std::make_shared<const Layout>(std::move(layout));
  edit.commit(replace_buffer(edit.body(), buffer, std::make_shared<const BufferNode>(std::move(node))));
}

} // namespace nestsmith
