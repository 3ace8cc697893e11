#pragma once
/// What the primitives of storage share.

#include "dsl/layout.h"
#include "dsl/primitives/edit.h"

namespace nestsmith {

/// The temporary that `block` writes; refuses a parameter.
const Buffer &require_temporary(const Schedule::Edit &edit, const Block &block);
/// Refuses a temporary outside of shared memory: `what` is of use where there are banks.
void require_shared(const Schedule::Edit &edit, const Block &block, const std::string &what);
/// A copy of the buffer's layout, to be changed.
Layout layout_of(const Buffer &buffer);
/// Dimensions as stored.
std::size_t physical_rank(const Buffer &buffer);
/// The program with this layout for `buffer`.
void commit_layout(Schedule::Edit &edit, const Buffer &buffer, Layout layout);

} // namespace nestsmith
