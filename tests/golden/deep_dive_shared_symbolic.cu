// deep_dive/shared
//
// A: float [M, K], row-major, rows lda apart, read
// B: float [K, N], row-major, rows ldb apart, read
// C: float [M, N], row-major, rows ldc apart, read and written
// alpha: float
// beta: float
//
// Launch: grid (N + 31)//32 x (M + 31)//32, block 1024, 8192 bytes of shared memory a block
// Requires: M at least 1, at most 1073741824
// Requires: N at least 1, at most 1073741824
// Requires: K at least 1, at most 1073741824
// Requires: lda at least 1, at most 1073741824
// Requires: ldb at least 1, at most 1073741824
// Requires: ldc at least 1, at most 1073741824
// Requires: lda, the leading dimension of A, at least K
// Requires: ldb, the leading dimension of B, at least N
// Requires: ldc, the leading dimension of C, at least N
// Requires: the grid's extent on blockIdx.y at most 65535
// Requires: no written array overlapping another

#include <cuda_runtime.h>

extern "C" __global__ void __launch_bounds__(1024)
gemm(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, int M, int N,
     int K, int lda, int ldb, int ldc, float alpha, float beta) {
  const int j_outer = blockIdx.x;
  const int i_outer = blockIdx.y;
  const int tid = threadIdx.x;
  __shared__ float A_shared[32 * 32];  // 32 x 32 tile of A
  __shared__ float B_shared[32 * 32];  // 32 x 32 tile of B

  const int i = i_outer * 32 + tid / 32;
  const int j = j_outer * 32 + tid % 32;
  float AB = 0.0f;
  for (int k_outer = 0; k_outer < (K + 31) / 32; ++k_outer) {
    const int A_k = k_outer * 32 + tid % 32;
    const int B_k = k_outer * 32 + tid / 32;
    A_shared[tid] = i < M && A_k < K ? A[(long long)i * lda + A_k] : 0.0f;
    B_shared[tid] = B_k < K && j < N ? B[(long long)B_k * ldb + j] : 0.0f;
    __syncthreads();  // A_shared, B_shared: written above, read below by AB
    #pragma unroll
    for (int k_inner = 0; k_inner < 32; ++k_inner) {
      AB += A_shared[tid / 32 * 32 + k_inner] * B_shared[k_inner * 32 + tid % 32];
    }
    __syncthreads();  // A_shared, B_shared: read above by AB, overwritten by the next k_outer
  }
  if (i < M && j < N) {  // tail of i, j
    C[(long long)i * ldc + j] =
        alpha * AB + beta * (beta != 0.0f ? C[(long long)i * ldc + j] : 0.0f);
  }
}

/// Whether two arrays share a byte.
static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const char *a_begin = (const char *)a, *b_begin = (const char *)b;
  return a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

/// Launches gemm on `stream` and does not wait. Returns
/// cudaErrorInvalidValue for sizes that break a requirement, for a null pointer, and where an array
/// that is written overlaps another.
extern "C" cudaError_t gemm_launch(const float *A, const float *B, float *C, long long M,
                                   long long N, long long K, long long lda, long long ldb,
                                   long long ldc, float alpha, float beta, cudaStream_t stream) {
  if (A == nullptr || B == nullptr || C == nullptr) {
    return cudaErrorInvalidValue;
  }
  if (M < 1 || 1073741824 < M || N < 1 || 1073741824 < N || K < 1 || 1073741824 < K || lda < 1 ||
      1073741824 < lda || ldb < 1 || 1073741824 < ldb || ldc < 1 || 1073741824 < ldc) {
    return cudaErrorInvalidValue;
  }
  if (lda < K) {  // lda, the leading dimension of A, at least K
    return cudaErrorInvalidValue;
  }
  if (ldb < N) {  // ldb, the leading dimension of B, at least N
    return cudaErrorInvalidValue;
  }
  if (ldc < N) {  // ldc, the leading dimension of C, at least N
    return cudaErrorInvalidValue;
  }
  if (65535 < (M + 31) / 32) {  // the grid's extent on blockIdx.y at most 65535
    return cudaErrorInvalidValue;
  }
  if (overlap(A, ((M - 1) * lda + K) * sizeof(float), C, ((M - 1) * ldc + N) * sizeof(float)) ||
      overlap(B, ((K - 1) * ldb + N) * sizeof(float), C, ((M - 1) * ldc + N) * sizeof(float))) {
    return cudaErrorInvalidValue;
  }
  gemm<<<dim3((unsigned int)((N + 31) / 32), (unsigned int)((M + 31) / 32)), 1024, 0,
      stream>>>(A, B, C, M, N, K, lda, ldb, ldc, alpha, beta);
  return cudaGetLastError();
}
