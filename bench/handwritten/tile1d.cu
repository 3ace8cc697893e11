// A block computes a 64 x 64 tile of C from tiles of 8 columns of A and 8 rows of B. A thread computes 8
// results of a column.
#include "shape.h"

constexpr int BM = 64, BN = 64, BK = 8, TM = 8;

extern "C" __global__ void __launch_bounds__(BM *BN / TM)
    gemm(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, float alpha,
         float beta) {
  __shared__ float A_tile[BM][BK];
  __shared__ float B_tile[BK][BN];
  const int id = threadIdx.x;
  const int y = id / BN;
  const int x = id % BN;
  const int A_row = blockIdx.y * BM + id / BK;
  const int A_col = id % BK;
  const int row = blockIdx.y * BM + y * TM;
  const int col = blockIdx.x * BN + x;
  float sum[TM] = {};
  for (int k0 = 0; k0 < K; k0 += BK) {
    A_tile[id / BK][A_col] =
        inside(A_row, M, BM) && inside(k0 + A_col, K, BK) ? A[A_row * K + k0 + A_col] : 0.0f;
    B_tile[y][x] = inside(k0 + y, K, BK) && inside(col, N, BN) ? B[(k0 + y) * N + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      const float b = B_tile[k][x];
#pragma unroll
      for (int t = 0; t < TM; ++t) {
        sum[t] += A_tile[y * TM + t][k] * b;
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int t = 0; t < TM; ++t) {
    if (inside(row + t, M, BM) && inside(col, N, BN)) {
      C[(row + t) * N + col] = alpha * sum[t] + (beta != 0.0f ? beta * C[(row + t) * N + col] : 0.0f);
    }
  }
}
