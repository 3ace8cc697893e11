#include "dsl/schedule/primitives/transform_layout.h"

#include "dsl/ir/allocation.h"
#include "dsl/schedule/primitives/storage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

constinit const Primitive primitives::transform_layout =
    primitive<&Schedule::transform_layout>("transform_layout", {block("writer"), index_map("map")});

void Schedule::transform_layout(BlockRef handle, const IndexMap &map, Caller caller) {
  Edit edit(*this, caller, primitives::transform_layout, handle, map);
  const Block &writer = edit.block(handle);
  const Buffer &buffer = require_temporary(edit, "transform_layout.temporary", writer);
  Layout layout = layout_of(buffer);
  if (buffer->scope == Scope::global)
    edit.refuse("transform_layout.scope",
                fmt::format("{} is global, expected shared, local or warp; use set_scope first", buffer->name),
                {writer.id->name});
  bool replicated =
      buffer->scope == Scope::warp && !layout.map && map.logical().size() == physical_rank(buffer) + 1;
  if (map.logical().size() != physical_rank(buffer) && !replicated)
    edit.refuse("transform_layout.rank",
                fmt::format("the map takes {} indices, but {} is stored by {}{}", map.logical().size(),
                            buffer->name, physical_rank(buffer),
                            buffer->scope == Scope::warp && layout.map
                                ? "; the replica is an index of the first map"
                                : ""),
                {writer.id->name});
  if (!layout.strides.empty() || layout.swizzle)
    edit.refuse("transform_layout.first",
                fmt::format("{} is already {}, which depends on the order of dimensions that transform_layout "
                            "would change; use transform_layout first",
                            buffer->name, layout.swizzle ? "swizzled" : "padded"),
                {writer.id->name});
  layout.map = layout.map ? compose(*layout.map, map) : map;
  if (buffer->scope == Scope::warp) // an obligation, because the box and the loops of the lanes may come later
    return commit_layout(edit, buffer, std::move(layout));
  Placement placement = place(edit.program(), buffer);
  // A box that depends on sizes must still move below a loop. Its layout is then checked as an obligation.
  std::vector<std::int64_t> box = placement.elements == 0 ? std::vector<std::int64_t>{} : placement.box();
  if (box.empty())
    return commit_layout(edit, buffer, std::move(layout));
  if (auto collision = not_invertible(*layout.map, box))
    edit.refuse("transform_layout.invertible",
                fmt::format("the layout is not invertible over the {} elements of {}: {}; keep the remainder "
                            "of each division, as in \"i -> i//4, i%4\"",
                            fmt::join(box, " x "), buffer->name, *collision),
                {writer.id->name});
  commit_layout(edit, buffer, std::move(layout));
}

} // namespace nestsmith
