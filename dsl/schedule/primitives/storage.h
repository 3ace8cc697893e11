#pragma once
/// Support for the primitives that change storage.

#include "dsl/ir/layout.h"
#include "dsl/schedule/primitives/edit.h"

namespace nestsmith {

/// The temporary that `block` writes. Refuses a parameter.
const Buffer &require_temporary(const Schedule::Edit &edit, const char *requirement, const Block &block);
/// Refuses a temporary that is not in shared memory. `what` names the directive in the message: "a swizzle".
void require_shared(const Schedule::Edit &edit, const char *requirement, const Block &block,
                    const std::string &what);
/// A copy of the buffer's layout, or the default layout if the buffer has no layout.
Layout layout_of(const Buffer &buffer);
/// The number of stored dimensions.
std::size_t physical_rank(const Buffer &buffer);
/// Commits the program with `layout` as the layout of `buffer`.
void commit_layout(Schedule::Edit &edit, const Buffer &buffer, Layout layout);

} // namespace nestsmith
