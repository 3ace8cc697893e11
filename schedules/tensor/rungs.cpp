#include "schedules/tensor/rungs.h"

#include "schedules/tensor/tiles.h"

namespace nestsmith::tensor {

namespace {

/// 16 warps, one instruction each for a step of k: 64 x 32 results.
constexpr Tiles sixteen_warps = {.warps = {4, 4}, .results = {16, 8}, .steps = 2, .source = Source::shared};

} // namespace

Schedule mma(const Shape &shape, DType dtype, const Target &target) {
  return product(shape, dtype, target, {});
}

Schedule shared(const Shape &shape, DType dtype, const Target &target) {
  return product(shape, dtype, target, sixteen_warps);
}

Schedule ldmatrix(const Shape &shape, DType dtype, const Target &target) {
  Tiles tiles = sixteen_warps;
  tiles.source = Source::ldmatrix;
  return product(shape, dtype, target, tiles);
}

Schedule swizzled(const Shape &shape, DType dtype, const Target &target) {
  Tiles tiles = sixteen_warps;
  tiles.source = Source::ldmatrix;
  tiles.swizzled = true;
  return product(shape, dtype, target, tiles);
}

/// 8 warps of 64 x 32 results: an operand in registers is used by several instructions.
Schedule warp_tiles(const Shape &shape, DType dtype, const Target &target) {
  return product(
      shape, dtype, target,
      {.warps = {2, 4}, .results = {64, 32}, .steps = 2, .source = Source::ldmatrix, .swizzled = true});
}

} // namespace nestsmith::tensor
