// deep_dive/naive
//
// A: float [M, K], row-major, rows lda apart, read
// B: float [K, N], row-major, rows ldb apart, read
// C: float [M, N], row-major, rows ldc apart, read and written
// alpha: float
// beta: float
//
// Launch: grid (M*N + 255)//256, block 256
// Requires: M at least 1, at most 1073741824
// Requires: N at least 1, at most 1073741824
// Requires: K at least 1, at most 1073741824
// Requires: lda at least 1, at most 1073741824
// Requires: ldb at least 1, at most 1073741824
// Requires: ldc at least 1, at most 1073741824
// Requires: lda, the leading dimension of A, at least K
// Requires: ldb, the leading dimension of B, at least N
// Requires: ldc, the leading dimension of C, at least N
// Requires: the grid's extent on blockIdx.x at most 2147483647
// Requires: no written array overlapping another

#include <cuda_runtime.h>

extern "C" __global__ void __launch_bounds__(256)
gemm(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, int M, int N,
     int K, int lda, int ldb, int ldc, float alpha, float beta) {
  const int j_i_outer = blockIdx.x;
  const int j_i_inner = threadIdx.x;

  const int i = (int)(((long long)j_i_outer * 256 + j_i_inner) % M);
  const long long j = ((long long)j_i_outer * 256 + j_i_inner) / M;
  if (j < N) {  // tail of j
    float AB = 0.0f;
    for (int k = 0; k < K; ++k) {
      AB += A[(long long)i * lda + k] * B[(long long)k * ldb + j];
    }
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
  if (2147483647 < (M * N + 255) / 256) {  // the grid's extent on blockIdx.x at most 2147483647
    return cudaErrorInvalidValue;
  }
  if (overlap(A, ((M - 1) * lda + K) * sizeof(float), C, ((M - 1) * ldc + N) * sizeof(float)) ||
      overlap(B, ((K - 1) * ldb + N) * sizeof(float), C, ((M - 1) * ldc + N) * sizeof(float))) {
    return cudaErrorInvalidValue;
  }
  gemm<<<(unsigned int)((M * N + 255) / 256), 256, 0,
      stream>>>(A, B, C, M, N, K, lda, ldb, ldc, alpha, beta);
  return cudaGetLastError();
}
