#include "schedules/tensor/tiles.h"

#include "schedules/variant.h"
#include "schedules/workloads.h"

#include <algorithm>

namespace nestsmith::tensor {

/// No vector is shorter than 4 bytes.
static std::int64_t fewest(DType dtype) { return std::max<std::int64_t>(2, 4 / byte_size(dtype)); }

Shape with_b_transposed(Shape shape) {
  shape.transposed.b = true;
  return shape;
}

std::optional<Variant> variant_nt(const Shape &shape, DType dtype) {
  return variant(with_b_transposed(shape), dtype);
}

std::optional<Variant> variant(const Shape &shape, DType dtype) {
  std::vector<RowOf> rows = {rows_of_a(shape, fewest(dtype)), rows_of_b(shape, fewest(dtype))};
  if (rows[0].extent == rows[1].extent)
    rows = {{"A and B", rows[0].axis, rows[0].extent, fewest(dtype)}};
  return narrow_unless_multiples(shape, rows, 16 / byte_size(dtype));
}

Schedule product(const Shape &shape, DType dtype, const Target &target, const Tiles &tiles) {
  Schedule s(gemm(shape, dtype), target);
  library::product(s, s.block("AB"), tiles);
  return s;
}

std::vector<std::int64_t> parts_of_k(const Shape &shape, std::int64_t depth) {
  std::vector<std::int64_t> candidates = {1, 2, 4, 8, 16, 32, 64};
  std::erase_if(candidates, [&](std::int64_t n) {
    return n > 1 && (shape.stated || shape.size() != 3 || 2 * n * depth > shape[2]);
  });
  return candidates;
}

} // namespace nestsmith::tensor
