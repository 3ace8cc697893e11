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

/// A row of matrices, for vectors along it.
struct RowOf {
  std::string operands;    ///< "B and C": their rows are accessed by vectors of the same number of elements
  const char *axis;        ///< "N"
  std::size_t extent;      ///< its position in the shape
  std::int64_t fewest = 2; ///< elements of a vector
  /// A row may end within a vector, as in asynchronous copies: only the start of a row counts.
  bool may_end_inside = false;
};

/// The rows of the operands A and B of a product, as the shape stores them.
RowOf rows_of_a(const Shape &shape, std::int64_t fewest = 2);
RowOf rows_of_b(const Shape &shape, std::int64_t fewest = 2);

/// The variant of a rung that takes the widest vectors of at most `lanes` elements that each row allows:
/// "narrow" with "A by 2 elements: K % 4 = 2". "scalar" if no row allows vectors. None if all rows allow the
/// widest.
std::optional<Variant> narrow_unless_multiples(const Shape &shape, const std::vector<RowOf> &rows,
                                               std::int64_t lanes);

} // namespace nestsmith
