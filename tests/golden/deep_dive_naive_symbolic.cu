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
// Requires: no overlap of a written array with another
// If M or N is 0, nothing is launched

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

/// Returns whether two arrays overlap.
static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const char *a_begin = (const char *)a, *b_begin = (const char *)b;
  return a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

/// Returns the first requirement that these arguments violate, as a sentence, or null if none.
extern "C" const char *gemm_requirement(const float *A, const float *B, float *C, long long M,
                                        long long N, long long K, long long lda, long long ldb,
                                        long long ldc) {
  if (M < 0 || 1073741824 < M)
    return "M must be from 0 to 1073741824";
  if (N < 0 || 1073741824 < N)
    return "N must be from 0 to 1073741824";
  if (K < 0 || 1073741824 < K)
    return "K must be from 0 to 1073741824";
  if (lda < 0 || 1073741824 < lda)
    return "lda must be from 0 to 1073741824";
  if (ldb < 0 || 1073741824 < ldb)
    return "ldb must be from 0 to 1073741824";
  if (ldc < 0 || 1073741824 < ldc)
    return "ldc must be from 0 to 1073741824";
  if (lda < K)
    return "lda, the leading dimension of A, must be at least K";
  if (ldb < N)
    return "ldb, the leading dimension of B, must be at least N";
  if (ldc < N)
    return "ldc, the leading dimension of C, must be at least N";
  if (M == 0 || N == 0)
    return nullptr;  // nothing is launched, so the arrays are not checked
  if (2147483647 < (M * N + 255) / 256)
    return "the grid's extent on blockIdx.x, (M * N + 255) / 256, must be at most 2147483647";
  if (K == 0)
    return "K must be at least 1, unless M or N is 0";
  if (A == nullptr)
    return "A must not be null";
  if (B == nullptr)
    return "B must not be null";
  if (C == nullptr)
    return "C must not be null";
  if ((size_t)A % 4 != 0)
    return "A must be aligned to 4 bytes";
  if ((size_t)B % 4 != 0)
    return "B must be aligned to 4 bytes";
  if ((size_t)C % 4 != 0)
    return "C must be aligned to 4 bytes";
  if (overlap(A, ((M - 1) * lda + K) * sizeof(float), C, ((M - 1) * ldc + N) * sizeof(float)))
    return "A and C must not overlap";
  if (overlap(B, ((K - 1) * ldb + N) * sizeof(float), C, ((M - 1) * ldc + N) * sizeof(float)))
    return "B and C must not overlap";
  return nullptr;
}

/// Launches gemm on `stream` and does not wait.
/// If a requirement is violated (see gemm_requirement), it launches
/// nothing and returns cudaErrorInvalidValue.
/// If M or N is 0, it launches nothing and returns cudaSuccess.
extern "C" cudaError_t gemm_launch(const float *A, const float *B, float *C, long long M,
                                   long long N, long long K, long long lda, long long ldb,
                                   long long ldc, float alpha, float beta, cudaStream_t stream) {
  if (gemm_requirement(A, B, C, M, N, K, lda, ldb, ldc) != nullptr) {
    return cudaErrorInvalidValue;
  }
  if (M == 0 || N == 0) {
    return cudaSuccess;  // there is nothing to compute
  }
  gemm<<<(unsigned int)((M * N + 255) / 256), 256, 0,
      stream>>>(A, B, C, M, N, K, lda, ldb, ldc, alpha, beta);
  return cudaGetLastError();
}
