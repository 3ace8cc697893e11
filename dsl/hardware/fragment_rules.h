#pragma once
/// The conditions that lowering requires of a fragment.

#include "dsl/ir/allocation.h"

#include <optional>
#include <string>

namespace nestsmith {

/// The reason why the nest cannot use `buffer`, in the scope `warp`, as it does; none if it can:
///
/// - The buffer has a layout of lanes and registers that is valid for its box.
/// - If not all lanes hold copies, each block that uses it runs below a loop that is bound to a lane, and this
///   lane holds each element that the block accesses; or the block is part of one call of an intrinsic that a
///   whole warp executes.
/// - Each copy of an element that is read has been written by its own lane (dsl/hardware/replicas.h).
/// - No loop that is bound to a lane or to threadIdx.x is around all of its uses.
std::optional<std::string> fragment_breach(Placements &placements, const Buffer &buffer);

} // namespace nestsmith
