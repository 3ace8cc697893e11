// A block keeps 32 x 32 tiles of A and B in shared memory and computes a 32 x 32 tile of C.
#include "shape.h"

constexpr int tile = 32;

extern "C" __global__ void __launch_bounds__(tile *tile)
    gemm(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, float alpha,
         float beta) {
  __shared__ float A_tile[tile][tile];
  __shared__ float B_tile[tile][tile];
  const int y = threadIdx.x / tile;
  const int x = threadIdx.x % tile;
  const int row = blockIdx.y * tile + y;
  const int col = blockIdx.x * tile + x;
  float sum = 0.0f;
  for (int k0 = 0; k0 < K; k0 += tile) {
    A_tile[y][x] = inside(row, M, tile) && inside(k0 + x, K, tile) ? A[row * K + k0 + x] : 0.0f;
    B_tile[y][x] = inside(k0 + y, K, tile) && inside(col, N, tile) ? B[(k0 + y) * N + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < tile; ++k) {
      sum += A_tile[y][k] * B_tile[k][x];
    }
    __syncthreads();
  }
  if (inside(row, M, tile) && inside(col, N, tile)) {
    C[row * N + col] = alpha * sum + (beta != 0.0f ? beta * C[row * N + col] : 0.0f);
  }
}
