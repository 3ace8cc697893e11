#include "dsl/schedule/primitives/set_scope.h"

#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith {

constinit const Primitive primitives::set_scope =
    primitive<&Schedule::set_scope>("set_scope", {block("writer"), scope("scope")});

void Schedule::set_scope(BlockRef handle, Scope scope, Caller caller) {
  Edit edit(*this, caller, primitives::set_scope, handle, scope);
  Buffer old = edit.block(handle).body.buffer;
  if (old->role != Role::temporary)
    edit.refuse(
        "set_scope.temporary",
        fmt::format(
            "block {} writes {}, a parameter in global memory; use cache_write to compute it in {} memory",
            handle.id->name, old->name, nestsmith::name(scope)),
        {handle.id->name});
  if (old->layout && scope != old->scope)
    edit.refuse("set_scope.layout",
                fmt::format("{} has a layout for {} memory ({}); use set_scope before {}", old->name,
                            nestsmith::name(old->scope), to_string(*old->layout),
                            old->layout->swizzle            ? "swizzle"
                            : !old->layout->strides.empty() ? "storage_align"
                                                            : "transform_layout"),
                {handle.id->name});
  BufferNode moved = *old;
  moved.scope = scope;
  edit.commit(replace_buffer(edit.body(), old, std::make_shared<const BufferNode>(std::move(moved))));
}

} // namespace nestsmith
