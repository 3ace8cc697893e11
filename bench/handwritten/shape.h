// C = alpha * A * B + beta * C, row-major; the shape is constant, as in the kernels that nestsmith generates.
#pragma once
#ifndef SHAPE_M
#define SHAPE_M 1024
#define SHAPE_N 1024
#define SHAPE_K 1024
#endif
constexpr int M = SHAPE_M, N = SHAPE_N, K = SHAPE_K;

// Returns whether index < extent. If the tile divides the extent, this is known at compile time.
__device__ __forceinline__ bool inside(int index, int extent, int tile) {
  return extent % tile == 0 || index < extent;
}
