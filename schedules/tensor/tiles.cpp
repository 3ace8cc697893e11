#include "schedules/tensor/tiles.h"

#include "schedules/library/tile_knobs.h"
#include "schedules/workloads.h"

namespace nestsmith::tensor {

Shape with_b_transposed(Shape shape) {
  shape.transposed.b = true;
  return shape;
}

std::optional<Variant> variant_nt(const Shape &shape, DType dtype) {
  return variant(with_b_transposed(shape), dtype);
}

std::optional<Variant> variant(const Shape &shape, DType dtype) {
  return library::matrix_variant(shape, dtype);
}

Shape with_size_of_part(const Shape &shape, DType dtype, const Target &target, const Tiles &tiles) {
  const std::int64_t depth = tiles.part.empty() ? 0 : tiles.steps * library::instruction_for(dtype).k();
  return library::with_size_of_part(shape, tiles.part, {tiles.tile(0), tiles.tile(1), depth}, target);
}

Schedule product(const Shape &shape, DType dtype, const Target &target, const Tiles &tiles) {
  Schedule s(gemm(with_size_of_part(shape, dtype, target, tiles), dtype), target);
  library::product(s, s.block("AB"), tiles);
  return s;
}

} // namespace nestsmith::tensor
