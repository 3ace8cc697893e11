#include "dsl/schedule/primitives/storage_align.h"

#include "dsl/schedule/primitives/storage.h"

#include <fmt/format.h>

namespace nestsmith {

constinit const Primitive primitives::storage_align = primitive<&Schedule::storage_align>(
    "storage_align", {block("writer"), integer("dim", 0, 3), integer("factor", 4), integer("offset", 3)});

void Schedule::storage_align(BlockRef handle, std::int64_t dim, std::int64_t factor, std::int64_t offset,
                             Caller caller) {
  Edit edit(*this, caller, primitives::storage_align, handle, dim, factor, offset);
  const Block &writer = edit.block(handle);
  const Buffer &buffer = require_temporary(edit, "storage_align.temporary", writer);
  require_shared(edit, "storage_align.shared", writer, "padding");
  auto rank = static_cast<std::int64_t>(physical_rank(buffer));
  if (dim < 0 || dim >= rank - 1)
    edit.refuse("storage_align.dim",
                fmt::format("got the dimension {}, expected one of the {} outer dimensions of {}, because the "
                            "innermost has stride 1",
                            dim, rank - 1, buffer->name),
                {writer.id->name});
  if (factor < 1 || factor > 65536 || offset < 0 || offset >= factor)
    edit.refuse("storage_align.numbers",
                fmt::format("got the stride {} modulo {}, expected a factor from 1 to 65536 and an offset "
                            "below it",
                            offset, factor),
                {writer.id->name});
  Layout layout = layout_of(buffer);
  if (layout.swizzle)
    edit.refuse("storage_align.first",
                fmt::format("{} is already swizzled, and padding would change the offsets that the swizzle "
                            "permutes; use storage_align before swizzle",
                            buffer->name),
                {writer.id->name});
  auto at = static_cast<std::size_t>(dim);
  std::erase_if(layout.strides, [&](const StrideAlignment &stride) { return stride.dim == at; });
  layout.strides.push_back({at, factor, offset});
  commit_layout(edit, buffer, std::move(layout));
}

} // namespace nestsmith
