// split-K
//
// A: float [1000, 3333], row-major, read
// B: float [3333, 777], row-major, read
// C: float [1000, 777], row-major, read and written
// alpha: float
// beta: float
// AB_rf: float [4, 1000, 777], row-major, workspace
//
// Launch: gemm_AB_rf, grid 49 x 63 x 4, block 256, 2048 bytes of shared memory per block
// Launch: gemm_C, grid 25 x 125, block 32 x 8
// Workspace: 12432000 bytes
// Requires: exactly these shapes, contiguous rows, no overlap of a written array with another

#include <cuda_runtime.h>

extern "C" __global__ void __launch_bounds__(256)
gemm_AB_rf(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ AB_rf) {
  const int j_outer = blockIdx.x;
  const int i_outer = blockIdx.y;
  const int k_0 = blockIdx.z;
  const int tid = threadIdx.x;
  __shared__ float A_shared[16 * 16];  // 16 x 16 tile of A
  __shared__ float B_shared[16 * 16];  // 16 x 16 tile of B

  const int i = i_outer * 16 + tid / 16;
  const int j = j_outer * 16 + tid % 16;
  float AB_rf_local = 0.0f;
  for (int k_1 = 0; k_1 < 53; ++k_1) {
    const int A_k = k_0 * 848 + k_1 * 16 + tid % 16;
    const int B_k = k_0 * 848 + k_1 * 16 + tid / 16;
    A_shared[tid] = i < 1000 && A_k < 3333 ? A[i * 3333 + A_k] : 0.0f;
    B_shared[tid] = B_k < 3333 && j < 777 ? B[B_k * 777 + j] : 0.0f;
    __syncthreads();  // A_shared, B_shared: written above, read below by AB_rf_local
    for (int k_2 = 0; k_2 < 16; ++k_2) {
      AB_rf_local += A_shared[tid / 16 * 16 + k_2] * B_shared[k_2 * 16 + tid % 16];
    }
    __syncthreads();  // A_shared, B_shared: read above by AB_rf_local, overwritten by the next k_1
  }
  if (i < 1000 && j < 777) {  // tail of i, j
    AB_rf[(k_0 * 1000 + i) * 777 + j] = AB_rf_local;
  }
}

extern "C" __global__ void __launch_bounds__(256)
gemm_C(float *__restrict__ C, const float *__restrict__ AB_rf, float alpha, float beta) {
  const int ax_j_outer = blockIdx.x;
  const int ax_i_outer = blockIdx.y;
  const int ax_j_inner = threadIdx.x;
  const int ax_i_inner = threadIdx.y;

  const int i = ax_i_outer * 8 + ax_i_inner;
  const int j = ax_j_outer * 32 + ax_j_inner;
  if (j < 777) {  // tail of j
    float AB = 0.0f;
    for (int ax_k_0 = 0; ax_k_0 < 4; ++ax_k_0) {
      AB += AB_rf[(ax_k_0 * 1000 + i) * 777 + j];
    }
    C[i * 777 + j] = alpha * AB + beta * (beta != 0.0f ? C[i * 777 + j] : 0.0f);
  }
}

/// Returns whether two arrays overlap.
static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const char *a_begin = (const char *)a, *b_begin = (const char *)b;
  return a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

extern "C" size_t gemm_workspace_bytes() { return 12432000; }

/// Returns the first requirement that these arguments violate, as a sentence, or null if none.
extern "C" const char *gemm_requirement(const float *A, const float *B, float *C, long long M,
                                        long long N, long long K, long long lda, long long ldb,
                                        long long ldc, const void *workspace,
                                        size_t workspace_bytes) {
  if (M != 1000)
    return "M must be 1000, for which the kernel was generated";
  if (N != 777)
    return "N must be 777, for which the kernel was generated";
  if (K != 3333)
    return "K must be 3333, for which the kernel was generated";
  if (lda != 3333)
    return "lda must be 3333, for which the kernel was generated";
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
  if (workspace == nullptr)
    return "workspace must not be null";
  if ((size_t)workspace % 256 != 0)
    return "workspace must be aligned to 256 bytes";
  if (workspace_bytes < gemm_workspace_bytes())
    return "workspace_bytes must be at least gemm_workspace_bytes()";
  if ((size_t)A % 4 != 0)
    return "A must be aligned to 4 bytes";
  if ((size_t)B % 4 != 0)
    return "B must be aligned to 4 bytes";
  if ((size_t)C % 4 != 0)
    return "C must be aligned to 4 bytes";
  if (overlap(A, 3333000LL * sizeof(float), C, 777000LL * sizeof(float)))
    return "A and C must not overlap";
  if (overlap(A, 3333000LL * sizeof(float), workspace, 12432000))
    return "A and workspace must not overlap";
  if (overlap(B, 2589741LL * sizeof(float), C, 777000LL * sizeof(float)))
    return "B and C must not overlap";
  if (overlap(B, 2589741LL * sizeof(float), workspace, 12432000))
    return "B and workspace must not overlap";
  if (overlap(C, 777000LL * sizeof(float), workspace, 12432000))
    return "C and workspace must not overlap";
  return nullptr;
}

/// Launches all kernels in order on `stream` and does not wait. It supports one shape only.
/// If a requirement is violated (see gemm_requirement), it launches
/// nothing and returns cudaErrorInvalidValue.
/// `workspace` holds intermediate results: at least gemm_workspace_bytes() bytes, aligned to 256.
extern "C" cudaError_t gemm_launch(const float *A, const float *B, float *C, long long M,
                                   long long N, long long K, long long lda, long long ldb,
                                   long long ldc, float alpha, float beta, void *workspace,
                                   size_t workspace_bytes, cudaStream_t stream) {
  if (gemm_requirement(A, B, C, M, N, K, lda, ldb, ldc, workspace, workspace_bytes) != nullptr) {
    return cudaErrorInvalidValue;
  }
  float *AB_rf = (float *)workspace;
  gemm_AB_rf<<<dim3(49, 63, 4), 256, 0, stream>>>(A, B, AB_rf);
  gemm_C<<<dim3(25, 125), dim3(32, 8), 0, stream>>>(C, AB_rf, alpha, beta);
  return cudaGetLastError();
}
