#pragma once
/// Forms of one rung: a shape for which vectors cannot be proved aligned takes a scalar one, by name.

#include "schedules/rung.h"

#include <utility>

namespace nestsmith {

/// "scalar" because "K % 4 = 3" where an extent is no multiple of `lanes`, or because "f16 has 2 bytes" where
/// operands are no elements of vectors; none where vectors can be used. `extents` are those of rows, by name
/// and position in the shape; of a symbolic shape it counts what is stated.
std::optional<Variant> scalar_unless_multiples(const Shape &shape, DType dtype,
                                               const std::vector<std::pair<const char *, std::size_t>> &extents,
                                               std::int64_t lanes);

} // namespace nestsmith
