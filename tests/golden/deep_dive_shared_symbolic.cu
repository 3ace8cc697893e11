// deep_dive/shared
//
// A: float [M, K], row-major, rows lda apart, read
// B: float [K, N], row-major, rows ldb apart, read
// C: float [M, N], row-major, rows ldc apart, read and written
// alpha: float
// beta: float
//
// Launch: grid (N + 31)//32 x (M + 31)//32, block 1024, 8192 bytes of shared memory per block
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
// Requires: no overlap of a written array with another
// If M or N is 0, nothing is launched

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
  #pragma unroll 4
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
  if (65535 < (M + 31) / 32)
    return "the grid's extent on blockIdx.y, (M + 31) / 32, must be at most 65535";
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
  gemm<<<dim3((unsigned int)((N + 31) / 32), (unsigned int)((M + 31) / 32)), 1024, 0,
      stream>>>(A, B, C, M, N, K, lda, ldb, ldc, alpha, beta);
  return cudaGetLastError();
}
