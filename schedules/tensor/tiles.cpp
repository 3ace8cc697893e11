#include "schedules/tensor/tiles.h"

#include "schedules/library/rows.h"
#include "schedules/variant.h"
#include "schedules/workloads.h"

#include <algorithm>

namespace nestsmith::tensor {

/// No vector is shorter than 4 bytes.
static std::int64_t fewest(DType dtype) { return std::max<std::int64_t>(2, 4 / byte_size(dtype)); }

std::optional<Variant> variant_nt(const Shape &shape, DType dtype) {
  return narrow_unless_multiples(shape, {{"A and B", "K", 2, fewest(dtype)}}, 16 / byte_size(dtype));
}

std::optional<Variant> variant(const Shape &shape, DType dtype) {
  return narrow_unless_multiples(shape, {{"A", "K", 2, fewest(dtype)}, {"B", "N", 1, fewest(dtype)}},
                                 16 / byte_size(dtype));
}

Schedule product(const Shape &shape, DType dtype, const Target &target, const Tiles &tiles, bool b_transposed,
                 std::int64_t places) {
  Schedule s(gemm(shape, dtype, {.b = b_transposed}), target);
  if (places > 0)
    library::product_with_even_tail(s, s.block("AB"), tiles, places);
  else
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
