#pragma once
/// Products whose tiles warps of a role fill, for the tests of roles, bulk copies and stores of rows.

#include "schedules/library/product.h"
#include "schedules/workloads.h"

#include <type_traits>

namespace nestsmith::test {

/// Tiles of 16 x 64 results in registers. In bulk, only B is copied so: A is stored by k.
inline library::RegisterTiles register_tiles(bool bulk = false) {
  return {.warps = {1, 2},
          .lanes = {4, 8},
          .results = {4, 4},
          .async = true,
          .fragments = true,
          .k = 8,
          .stages = 3,
          .load = {2, 0, bulk}};
}

/// Tiles of 64 x 64 results, which matrix units read with the swizzle of 128 bytes.
inline library::MatrixTiles unit_tiles(bool bulk = false) {
  return {.warps = {4, 1},
          .results = {16, 64},
          .steps = 4,
          .source = library::Source::tiles,
          .stages = 4,
          .in_flight = 1,
          .load = {4, 40, bulk}};
}

template <class Tiles>
Schedule product_of_stored(const Shape &shape, DType dtype, const Tiles &tiles,
                           const Target &target = make_target("sm_90a")) {
  Schedule s(gemm(shape, dtype), target);
  library::product(s, s.block("AB"), tiles);
  return s;
}

/// The same with both operands stored along k, if matrix units multiply.
template <class Tiles>
Schedule product_of(Shape shape, DType dtype, const Tiles &tiles,
                    const Target &target = make_target("sm_90a")) {
  shape.transposed.b = std::is_same_v<Tiles, library::MatrixTiles>;
  return product_of_stored(shape, dtype, tiles, target);
}

} // namespace nestsmith::test
