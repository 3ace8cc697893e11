// deep_dive/shared: 32 x 32 tiles of A and B in shared memory
//
// A: float [1000, 333], row-major, read
// B: float [333, 777], row-major, read
// C: float [1000, 777], row-major, read and written
// alpha: float
// beta: float
//
// Launch: grid 25 x 32, block 1024, 8192 bytes of shared memory per block
// Requires: exactly these shapes, contiguous rows, no overlap of a written array with another
// Target: sm_80
//
// Schedule:
//   auto AB = s.block("AB");
//   s.set_scope(AB, Scope::local);
//   auto i = s.loop("i");
//   auto [i_outer, i_inner] = s.split(i, {infer, 32});
//   auto j = s.loop("j");
//   auto [j_outer, j_inner] = s.split(j, {infer, 32});
//   auto k = s.loop("k");
//   auto [k_outer, k_inner] = s.split(k, {infer, 32});
//   s.reorder({i_outer, j_outer, i_inner, j_inner, k_outer, k_inner});
//   auto i_inner_j_inner = s.fuse(i_inner, j_inner);
//   auto C = s.block("C");
//   s.reverse_compute_at(C, i_inner_j_inner);
//   s.bind(i_outer, Axis::block_y);
//   s.bind(j_outer, Axis::block_x);
//   s.bind(i_inner_j_inner, Axis::thread_x);
//   auto A_shared = s.cache_read(AB, "A", Scope::shared);
//   s.compute_at(A_shared, k_outer);
//   auto ax_A_i = s.loop("ax_A_i");
//   auto ax_A_k = s.loop("ax_A_k");
//   auto ax_A_i_ax_A_k = s.fuse(ax_A_i, ax_A_k);
//   s.bind(ax_A_i_ax_A_k, Axis::thread_x);
//   auto B_shared = s.cache_read(AB, "B", Scope::shared);
//   s.compute_at(B_shared, k_outer);
//   auto ax_B_k = s.loop("ax_B_k");
//   auto ax_B_j = s.loop("ax_B_j");
//   auto ax_B_k_ax_B_j = s.fuse(ax_B_k, ax_B_j);
//   s.bind(ax_B_k_ax_B_j, Axis::thread_x);
//   s.unroll(k_inner);
//   s.unroll_by(k_outer, 4);

#include <cuda_runtime.h>

extern "C" __global__ void __launch_bounds__(1024)
gemm(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, float alpha,
     float beta) {
  const int j_outer = blockIdx.x;
  const int i_outer = blockIdx.y;
  const int tid = threadIdx.x;
  __shared__ float A_shared[32 * 32];  // 32 x 32 tile of A
  __shared__ float B_shared[32 * 32];  // 32 x 32 tile of B

  const int i = i_outer * 32 + tid / 32;
  const int j = j_outer * 32 + tid % 32;
  float AB = 0.0f;
  #pragma unroll 4
  for (int k_outer = 0; k_outer < 11; ++k_outer) {
    const int A_k = k_outer * 32 + tid % 32;
    const int B_k = k_outer * 32 + tid / 32;
    A_shared[tid] = i < 1000 && A_k < 333 ? A[i * 333 + A_k] : 0.0f;
    B_shared[tid] = B_k < 333 && j < 777 ? B[B_k * 777 + j] : 0.0f;
    __syncthreads();  // A_shared, B_shared: written above, read below by AB
    #pragma unroll
    for (int k_inner = 0; k_inner < 32; ++k_inner) {
      AB += A_shared[tid / 32 * 32 + k_inner] * B_shared[k_inner * 32 + tid % 32];
    }
    __syncthreads();  // A_shared, B_shared: read above by AB, overwritten by the next k_outer
  }
  if (i < 1000 && j < 777) {  // tail of i, j
    C[i * 777 + j] = alpha * AB + beta * (beta != 0.0f ? C[i * 777 + j] : 0.0f);
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
  if (M != 1000)
    return "M must be 1000, for which the kernel was generated";
  if (N != 777)
    return "N must be 777, for which the kernel was generated";
  if (K != 333)
    return "K must be 333, for which the kernel was generated";
  if (lda != 333)
    return "lda must be 333, for which the kernel was generated";
  if (ldb != 777)
    return "ldb must be 777, for which the kernel was generated";
  if (ldc != 777)
    return "ldc must be 777, for which the kernel was generated";
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
  if (overlap(A, 333000LL * sizeof(float), C, 777000LL * sizeof(float)))
    return "A and C must not overlap";
  if (overlap(B, 258741LL * sizeof(float), C, 777000LL * sizeof(float)))
    return "B and C must not overlap";
  return nullptr;
}

/// Launches gemm on `stream` and does not wait. It supports one shape only.
/// If a requirement is violated (see gemm_requirement), it launches
/// nothing and returns cudaErrorInvalidValue.
extern "C" cudaError_t gemm_launch(const float *A, const float *B, float *C, long long M,
                                   long long N, long long K, long long lda, long long ldb,
                                   long long ldc, float alpha, float beta, cudaStream_t stream) {
  if (gemm_requirement(A, B, C, M, N, K, lda, ldb, ldc) != nullptr) {
    return cudaErrorInvalidValue;
  }
  gemm<<<dim3(25, 32), 1024, 0, stream>>>(A, B, C, alpha, beta);
  return cudaGetLastError();
}
