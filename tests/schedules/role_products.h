#pragma once
/// Products whose tiles warps of a role fill, for the tests of roles, bulk copies and stores of rows.

#include "schedules/library/product.h"
#include "schedules/workloads.h"

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

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

/// A product of two warps with tiles of both operands along k, of 8. `warps_of_a` and `warps_of_b` fill them,
/// in a role for each tile; 0: the warps of the product fill it themselves.
inline Schedule product_with_fetches(const Shape &shape, DType dtype, std::int64_t warps_of_a,
                                     std::int64_t warps_of_b) {
  Schedule s(gemm(shape, dtype), make_target("sm_90a"));
  const BlockRef product = s.block("AB");
  auto [i, j, k] = s.loops<3>(product);
  auto [i_block, i_thread] = s.split<2>(i, {infer, 64});
  auto [k_outer, k_inner] = s.split<2>(k, {infer, 8});
  s.reorder({i_block, i_thread, k_outer, j, k_inner});
  s.set_scope(product, Scope::local);
  s.reverse_compute_at(s.block("C"), i_thread);
  s.bind(i_block, Axis::block_x);
  s.bind(i_thread, Axis::thread_x);
  const BlockRef a = s.cache_read(product, "A", Scope::shared), b = s.cache_read(product, "B", Scope::shared);
  for (auto [tile, warps] : {std::pair(a, warps_of_a), std::pair(b, warps_of_b)}) {
    s.compute_at(tile, k_outer);
    if (warps > 0)
      s.role({tile}, warps, 0);
    const std::vector<Loop> loops = s.loops_below(tile, k_outer);
    s.bind(s.split(s.fuse(loops[0], loops[1]), {infer, warps > 0 ? warps * 32 : 64})[1], Axis::thread_x);
  }
  auto stage = [](std::int64_t warps) { return warps > 0 ? 0 : 1; };
  s.pipeline(k_outer, {{a, stage(warps_of_a), 0}, {b, stage(warps_of_b), 1}, {product, 1, 2}});
  return s;
}

} // namespace nestsmith::test
