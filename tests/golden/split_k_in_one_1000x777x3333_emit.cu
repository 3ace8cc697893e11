// split-K in one kernel
//
// A: float [1000, 3333], row-major, read
// B: float [3333, 777], row-major, read
// C: float [1000, 777], row-major, read and written
// alpha: float
// beta: float
// arrived: unsigned int [3087], row-major, workspace
// AB_rf: float [4, 1000, 777], row-major, workspace
//
// Launch: grid 49 x 63 x 4, block 256, 2048 bytes of shared memory per block
// Workspace: 12444544 bytes
// Requires: exactly these shapes, contiguous rows, no overlap of a written array with another

#include <cuda_runtime.h>

/// Adds 1 to a counter, or sets it to 0 if it is `last`, and returns the value before. The thread releases what
/// its block has written before the last barrier, and acquires what those have released that counted before it.
static __device__ __forceinline__ unsigned int count_arrival(unsigned int *counter, unsigned int last) {
  unsigned int before;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(__cvta_generic_to_global(counter)), "r"(last)
               : "memory");
  return before;
}
/// Counts the arrival of this block. True in all threads of the last of `blocks` blocks, which then sees all
/// that the other blocks have written. The counter is 0 before the first arrival and after the last.
static __device__ __forceinline__ bool arrives_last(unsigned int *counter, unsigned int blocks) {
  __syncthreads();  // all threads of this block have written their results
  bool last = false;
  if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0) {
    const unsigned int before = count_arrival(counter, blocks - 1);
    if (before >= blocks)
      __trap();  // the counter was not zero before the launch
    last = before == blocks - 1;
  }
  return __syncthreads_or(last);
}

extern "C" __global__ void __launch_bounds__(256)
gemm(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, float *AB_rf,
     unsigned int *arrived, float alpha, float beta) {
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
  const bool last = arrives_last(&arrived[i_outer * 49 + j_outer], 4);
  if (last) {  // all blocks of k_0 have arrived
    if (i < 1000 && j < 777) {  // tail of i, j
      float AB = 0.0f;
      for (int ax_k_0 = 0; ax_k_0 < 4; ++ax_k_0) {
        AB += AB_rf[(ax_k_0 * 1000 + i) * 777 + j];
      }
      C[i * 777 + j] = alpha * AB + beta * (beta != 0.0f ? C[i * 777 + j] : 0.0f);
    }
  }
}

/// Returns whether two arrays overlap.
static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const char *a_begin = (const char *)a, *b_begin = (const char *)b;
  return a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

extern "C" size_t gemm_workspace_bytes() { return 12444544; }

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
  if (overlap(A, 3333000LL * sizeof(float), workspace, 12444544))
    return "A and workspace must not overlap";
  if (overlap(B, 2589741LL * sizeof(float), C, 777000LL * sizeof(float)))
    return "B and C must not overlap";
  if (overlap(B, 2589741LL * sizeof(float), workspace, 12444544))
    return "B and workspace must not overlap";
  if (overlap(C, 777000LL * sizeof(float), workspace, 12444544))
    return "C and workspace must not overlap";
  return nullptr;
}

/// Launches gemm on `stream` and does not wait. It supports one shape only.
/// If a requirement is violated (see gemm_requirement), it launches
/// nothing and returns cudaErrorInvalidValue.
/// `workspace` holds intermediate results: at least gemm_workspace_bytes() bytes, aligned to 256.
/// The workspace begins with counters of thread blocks. Set it to zero before the first launch, and
/// after any other use, such as a launch of other sizes. Each launch leaves the counters zero. Two
/// launches that may run at the same time need two workspaces.
extern "C" cudaError_t gemm_launch(const float *A, const float *B, float *C, long long M,
                                   long long N, long long K, long long lda, long long ldb,
                                   long long ldc, float alpha, float beta, void *workspace,
                                   size_t workspace_bytes, cudaStream_t stream) {
  if (gemm_requirement(A, B, C, M, N, K, lda, ldb, ldc, workspace, workspace_bytes) != nullptr) {
    return cudaErrorInvalidValue;
  }
  unsigned int *arrived = (unsigned int *)workspace;
  float *AB_rf = (float *)((char *)workspace + 12544);
  gemm<<<dim3(49, 63, 4), 256, 0, stream>>>(A, B, C, AB_rf, arrived, alpha, beta);
  return cudaGetLastError();
}
