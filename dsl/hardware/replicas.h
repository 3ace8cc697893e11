#pragma once
/// Which lanes have written their own copy of an element, for fragments that keep copies in several lanes.

#include "dsl/hardware/fragment.h"
#include "dsl/ir/allocation.h"

#include <optional>
#include <string>

namespace nestsmith {

/// The first read of a copy that its own lane has not written; none if each block that writes an element writes
/// all copies of it that are read. The copies that a block accesses are
///
///   - all copies of its elements, if it has no loop bound to a lane, or is part of a call of an intrinsic;
///   - otherwise, for each iteration of the loops below the placement, the copy in the lane of the iteration.
///
/// The function enumerates the iterations. It is conservative: a guard of a writer that may differ between the
/// lanes that write one element counts as false, and any other guard that it cannot evaluate as true.
///
/// Each access must be to a copy that its lane holds (`FragmentLayout::holds`).
std::optional<std::string> replica_breach(Placements &placements, const Buffer &buffer,
                                          const FragmentLayout &fragment);

} // namespace nestsmith
