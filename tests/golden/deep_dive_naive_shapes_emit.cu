// deep_dive/naive: one thread per element; a warp walks down a column
//
// Kernels for 64x64x8, 20x20x20, and for any other shape. The launcher, product_launch, selects
// them by its sizes.
// Target: sm_90

#include <cuda_runtime.h>

/// The number of the listed shape that has these sizes, from 1. 0: any other shape.
static int product_shape(long long M, long long N, long long K, long long lda, long long ldb,
                         long long ldc) {
  if (M == 64 && N == 64 && K == 8 && lda == 8 && ldb == 64 && ldc == 64)
    return 1;  // 64x64x8
  if (M == 20 && N == 20 && K == 20 && lda == 20 && ldb == 20 && ldc == 20)
    return 2;  // 20x20x20
  return 0;
}

/// Returns whether two arrays overlap.
static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const char *a_begin = (const char *)a, *b_begin = (const char *)b;
  return a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

// 64x64x8
//
// A: float [64, 8], row-major, read
// B: float [8, 64], row-major, read
// C: float [64, 64], row-major, read and written
// alpha: float
// beta: float
//
// Launch: grid 16, block 256
// Requires: exactly these shapes, contiguous rows, no overlap of a written array with another
//
// Schedule:
//   auto AB = s.block("AB");
//   s.set_scope(AB, Scope::local);
//   auto j = s.loop("j");
//   auto i = s.loop("i");
//   s.reorder({j, i});
//   auto j_i = s.fuse(j, i);
//   auto C = s.block("C");
//   s.reverse_compute_at(C, j_i);
//   auto [j_i_outer, j_i_inner] = s.split(j_i, {infer, 256});
//   s.bind(j_i_outer, Axis::block_x);
//   s.bind(j_i_inner, Axis::thread_x);

extern "C" __global__ void __launch_bounds__(256)
product_64x64x8(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C,
                float alpha, float beta) {
  const int j_i_outer = blockIdx.x;
  const int j_i_inner = threadIdx.x;

  const int i = j_i_inner % 64;
  const int j = j_i_outer * 4 + j_i_inner / 64;
  float AB = 0.0f;
  for (int k = 0; k < 8; ++k) {
    AB += A[i * 8 + k] * B[k * 64 + j];
  }
  C[i * 64 + j] = alpha * AB + beta * (beta != 0.0f ? C[i * 64 + j] : 0.0f);
}

/// Returns the first requirement that these arguments violate, as a sentence, or null if none.
static const char *product_64x64x8_requirement(const float *A, const float *B, float *C,
                                        long long M, long long N, long long K, long long lda,
                                        long long ldb, long long ldc) {
  if (M != 64)
    return "M must be 64, for which the kernel was generated";
  if (N != 64)
    return "N must be 64, for which the kernel was generated";
  if (K != 8)
    return "K must be 8, for which the kernel was generated";
  if (lda != 8)
    return "lda must be 8, for which the kernel was generated";
  if (ldb != 64)
    return "ldb must be 64, for which the kernel was generated";
  if (ldc != 64)
    return "ldc must be 64, for which the kernel was generated";
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
  if (overlap(A, 512LL * sizeof(float), C, 4096LL * sizeof(float)))
    return "A and C must not overlap";
  if (overlap(B, 512LL * sizeof(float), C, 4096LL * sizeof(float)))
    return "B and C must not overlap";
  return nullptr;
}

/// Launches product_64x64x8 on `stream` and does not wait. It supports one shape only.
/// If a requirement is violated (see product_64x64x8_requirement), it launches
/// nothing and returns cudaErrorInvalidValue.
static cudaError_t product_64x64x8_launch(const float *A, const float *B, float *C, long long M,
                                        long long N, long long K, long long lda, long long ldb,
                                        long long ldc, float alpha, float beta,
                                        cudaStream_t stream) {
  if (product_64x64x8_requirement(A, B, C, M, N, K, lda, ldb, ldc) != nullptr) {
    return cudaErrorInvalidValue;
  }
  product_64x64x8<<<16, 256, 0, stream>>>(A, B, C, alpha, beta);
  return cudaGetLastError();
}

// 20x20x20
//
// A: float [20, 20], row-major, read
// B: float [20, 20], row-major, read
// C: float [20, 20], row-major, read and written
// alpha: float
// beta: float
//
// Launch: grid 2, block 256
// Requires: exactly these shapes, contiguous rows, no overlap of a written array with another
//
// Schedule:
//   auto AB = s.block("AB");
//   s.set_scope(AB, Scope::local);
//   auto j = s.loop("j");
//   auto i = s.loop("i");
//   s.reorder({j, i});
//   auto j_i = s.fuse(j, i);
//   auto C = s.block("C");
//   s.reverse_compute_at(C, j_i);
//   auto [j_i_outer, j_i_inner] = s.split(j_i, {infer, 256});
//   s.bind(j_i_outer, Axis::block_x);
//   s.bind(j_i_inner, Axis::thread_x);

extern "C" __global__ void __launch_bounds__(256)
product_20x20x20(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C,
                 float alpha, float beta) {
  const int j_i_outer = blockIdx.x;
  const int j_i_inner = threadIdx.x;

  const int i = (j_i_outer * 256 + j_i_inner) % 20;
  const int j = (j_i_outer * 256 + j_i_inner) / 20;
  if (j < 20) {  // tail of j
    float AB = 0.0f;
    for (int k = 0; k < 20; ++k) {
      AB += A[i * 20 + k] * B[k * 20 + j];
    }
    C[i * 20 + j] = alpha * AB + beta * (beta != 0.0f ? C[i * 20 + j] : 0.0f);
  }
}

/// Returns the first requirement that these arguments violate, as a sentence, or null if none.
static const char *product_20x20x20_requirement(const float *A, const float *B, float *C,
                                        long long M, long long N, long long K, long long lda,
                                        long long ldb, long long ldc) {
  if (M != 20)
    return "M must be 20, for which the kernel was generated";
  if (N != 20)
    return "N must be 20, for which the kernel was generated";
  if (K != 20)
    return "K must be 20, for which the kernel was generated";
  if (lda != 20)
    return "lda must be 20, for which the kernel was generated";
  if (ldb != 20)
    return "ldb must be 20, for which the kernel was generated";
  if (ldc != 20)
    return "ldc must be 20, for which the kernel was generated";
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
  if (overlap(A, 400LL * sizeof(float), C, 400LL * sizeof(float)))
    return "A and C must not overlap";
  if (overlap(B, 400LL * sizeof(float), C, 400LL * sizeof(float)))
    return "B and C must not overlap";
  return nullptr;
}

/// Launches product_20x20x20 on `stream` and does not wait. It supports one shape only.
/// If a requirement is violated (see product_20x20x20_requirement), it launches
/// nothing and returns cudaErrorInvalidValue.
static cudaError_t product_20x20x20_launch(const float *A, const float *B, float *C, long long M,
                                        long long N, long long K, long long lda, long long ldb,
                                        long long ldc, float alpha, float beta,
                                        cudaStream_t stream) {
  if (product_20x20x20_requirement(A, B, C, M, N, K, lda, ldb, ldc) != nullptr) {
    return cudaErrorInvalidValue;
  }
  product_20x20x20<<<2, 256, 0, stream>>>(A, B, C, alpha, beta);
  return cudaGetLastError();
}

// any other shape
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
//
// Schedule:
//   auto AB = s.block("AB");
//   s.set_scope(AB, Scope::local);
//   auto j = s.loop("j");
//   auto i = s.loop("i");
//   s.reorder({j, i});
//   auto j_i = s.fuse(j, i);
//   auto C = s.block("C");
//   s.reverse_compute_at(C, j_i);
//   auto [j_i_outer, j_i_inner] = s.split(j_i, {infer, 256});
//   s.bind(j_i_outer, Axis::block_x);
//   s.bind(j_i_inner, Axis::thread_x);

extern "C" __global__ void __launch_bounds__(256)
product_symbolic(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C,
                 int M, int N, int K, int lda, int ldb, int ldc, float alpha, float beta) {
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

/// Returns the first requirement that these arguments violate, as a sentence, or null if none.
static const char *product_symbolic_requirement(const float *A, const float *B, float *C,
                                        long long M, long long N, long long K, long long lda,
                                        long long ldb, long long ldc) {
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

/// Launches product_symbolic on `stream` and does not wait.
/// If a requirement is violated (see product_symbolic_requirement), it launches
/// nothing and returns cudaErrorInvalidValue.
/// If M or N is 0, it launches nothing and returns cudaSuccess.
static cudaError_t product_symbolic_launch(const float *A, const float *B, float *C, long long M,
                                        long long N, long long K, long long lda, long long ldb,
                                        long long ldc, float alpha, float beta,
                                        cudaStream_t stream) {
  if (product_symbolic_requirement(A, B, C, M, N, K, lda, ldb, ldc) != nullptr) {
    return cudaErrorInvalidValue;
  }
  if (M == 0 || N == 0) {
    return cudaSuccess;  // there is nothing to compute
  }
  product_symbolic<<<(unsigned int)((M * N + 255) / 256), 256, 0,
      stream>>>(A, B, C, M, N, K, lda, ldb, ldc, alpha, beta);
  return cudaGetLastError();
}

/// Returns the first requirement that these arguments violate, as a sentence, or null if none.
extern "C" const char *product_requirement(const float *A, const float *B, float *C, long long M,
                                        long long N, long long K, long long lda, long long ldb,
                                        long long ldc) {
  switch (product_shape(M, N, K, lda, ldb, ldc)) {
    case 1:  // 64x64x8
      return product_64x64x8_requirement(A, B, C, M, N, K, lda, ldb, ldc);
    case 2:  // 20x20x20
      return product_20x20x20_requirement(A, B, C, M, N, K, lda, ldb, ldc);
    default:
      return product_symbolic_requirement(A, B, C, M, N, K, lda, ldb, ldc);
  }
}

/// Launches the kernels for the sizes on `stream` and does not wait for them:
///
///   64x64x8 with contiguous rows: product_64x64x8
///   20x20x20 with contiguous rows: product_20x20x20
///   any other shape, and rows with gaps: product_symbolic
///
/// If a requirement is violated (see product_requirement), it launches nothing and returns
/// cudaErrorInvalidValue.
extern "C" cudaError_t product_launch(const float *A, const float *B, float *C, long long M,
                                      long long N, long long K, long long lda, long long ldb,
                                      long long ldc, float alpha, float beta, cudaStream_t stream) {
  switch (product_shape(M, N, K, lda, ldb, ldc)) {
    case 1:  // 64x64x8
      return product_64x64x8_launch(A, B, C, M, N, K, lda, ldb, ldc, alpha, beta, stream);
    case 2:  // 20x20x20
      return product_20x20x20_launch(A, B, C, M, N, K, lda, ldb, ldc, alpha, beta, stream);
    default:
      return product_symbolic_launch(A, B, C, M, N, K, lda, ldb, ldc, alpha, beta, stream);
  }
}
