#include "schedules/tensor/tiles.h"

#include "schedules/variant.h"
#include "schedules/workloads.h"

namespace nestsmith::tensor {

std::optional<Variant> variant_nt(const Shape &shape, DType dtype) {
  return scalar_unless_multiples(shape, {{"K", 2}}, 16 / byte_size(dtype));
}

std::optional<Variant> variant(const Shape &shape, DType dtype) {
  return scalar_unless_multiples(shape, {{"K", 2}, {"N", 1}}, 16 / byte_size(dtype));
}

Schedule product(const Shape &shape, DType dtype, const Target &target, Tiles tiles, bool b_transposed) {
  Schedule s(gemm(shape, dtype, {.b = b_transposed}), target);
  if ((b_transposed ? variant_nt : variant)(shape, dtype))
    tiles.width = 1;
  library::product(s, s.block("AB"), tiles);
  return s;
}

} // namespace nestsmith::tensor
