#pragma once
/// Variants of a rung: if vectors may be misaligned for a shape, the rung uses a scalar variant.

#include "schedules/rung.h"

#include <utility>

namespace nestsmith {

/// The variant "scalar" with its reason: "K % 4 = 3" if an extent is not a multiple of `lanes`. None if vectors
/// are possible. `extents` are the row lengths: the name and the position in the shape of each. For a symbolic
/// shape, the stated `multiple_of` decides.
std::optional<Variant> scalar_unless_multiples(const Shape &shape,
                                               const std::vector<std::pair<const char *, std::size_t>> &extents,
                                               std::int64_t lanes);

} // namespace nestsmith
