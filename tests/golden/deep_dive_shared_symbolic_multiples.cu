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
  for (int k_outer = 0; k_outer < K / 32; ++k_outer) {
    const int A_k = k_outer * 32 + tid % 32;
    const int B_k = k_outer * 32 + tid / 32;
    A_shared[tid] = A[i * lda + A_k];
    B_shared[tid] = B[B_k * ldb + j];
    __syncthreads();  // A_shared, B_shared: written above, read below by AB
    #pragma unroll
    for (int k_inner = 0; k_inner < 32; ++k_inner) {
      AB += A_shared[tid / 32 * 32 + k_inner] * B_shared[k_inner * 32 + tid % 32];
    }
    __syncthreads();  // A_shared, B_shared: read above by AB, overwritten by the next k_outer
  }
  C[i * ldc + j] = alpha * AB + beta * (beta != 0.0f ? C[i * ldc + j] : 0.0f);
}
