extern "C" __global__ void __launch_bounds__(512)
gemm(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, float alpha,
     float beta) {
  const int j_outer = blockIdx.x;
  const int i_0 = blockIdx.y;
  const int tid = threadIdx.x;
  __shared__ float A_shared[64 * 8];  // 64 x 8 tile of A
  __shared__ float B_shared[8 * 64];  // 8 x 64 tile of B
  float AB[8];  // 8 x 1 results of one thread

  const int j = j_outer * 64 + tid % 64;
  const int A_i = i_0 * 64 + tid / 8;
  #pragma unroll
  for (int i_2 = 0; i_2 < 8; ++i_2) {
    AB[i_2] = 0.0f;
  }
  for (int k_outer = 0; k_outer < 42; ++k_outer) {
    const int A_k = k_outer * 8 + tid % 8;
    const int B_k = k_outer * 8 + tid / 64;
    A_shared[tid] = A_i < 1000 && A_k < 333 ? A[A_i * 333 + A_k] : 0.0f;
    B_shared[tid] = B_k < 333 && j < 777 ? B[B_k * 777 + j] : 0.0f;
    __syncthreads();  // A_shared, B_shared: written above, read below by AB
    #pragma unroll
    for (int k_inner = 0; k_inner < 8; ++k_inner) {
      const float B_shared_local = B_shared[k_inner * 64 + tid % 64];
      #pragma unroll
      for (int i_2 = 0; i_2 < 8; ++i_2) {
        AB[i_2] += A_shared[tid / 64 * 64 + i_2 * 8 + k_inner] * B_shared_local;
      }
    }
    __syncthreads();  // B_shared, A_shared: read above by AB, overwritten by the next k_outer
  }
  #pragma unroll
  for (int ax_i = 0; ax_i < 8; ++ax_i) {
    const int i = i_0 * 64 + tid / 64 * 8 + ax_i;
    if (i < 1000 && j < 777) {  // tail of i, j
      C[i * 777 + j] = alpha * AB[ax_i] + beta * (beta != 0.0f ? C[i * 777 + j] : 0.0f);
    }
  }
}
