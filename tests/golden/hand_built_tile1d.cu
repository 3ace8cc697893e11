extern "C" __global__ void __launch_bounds__(512)
tile1d(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, float alpha,
       float beta) {
  const int i_outer = blockIdx.y;
  const int j_outer = blockIdx.x;
  const int i_thread = threadIdx.y;
  const int j_thread = threadIdx.x;
  __shared__ float A_shared[64 * 8];  // 64 x 8 tile of A
  __shared__ float B_shared[8 * 64];  // 8 x 64 tile of B
  float AB[8];  // 8 results of one thread

  const int thread = i_thread * 64 + j_thread;
  const int row = i_outer * 64 + thread / 8;
  const int column = thread % 8;
  const int i = i_outer * 64 + i_thread * 8;
  const int j = j_outer * 64 + j_thread;
  #pragma unroll
  for (int i_inner = 0; i_inner < 8; ++i_inner) {
    AB[i_inner] = 0.0f;
  }
  for (int k_outer = 0; k_outer < 42; ++k_outer) {
    A_shared[thread] =
        row < 1000 && k_outer * 8 + column < 333 ? A[row * 333 + k_outer * 8 + column] : 0.0f;
    B_shared[thread] =
        k_outer * 8 + i_thread < 333 && j < 777 ? B[(k_outer * 8 + i_thread) * 777 + j] : 0.0f;
    __syncthreads();  // A_shared, B_shared: written above, read below by AB
    #pragma unroll
    for (int k_inner = 0; k_inner < 8; ++k_inner) {
      const float B_local = B_shared[k_inner * 64 + j_thread];
      #pragma unroll
      for (int i_inner = 0; i_inner < 8; ++i_inner) {
        AB[i_inner] += A_shared[(i_thread * 8 + i_inner) * 8 + k_inner] * B_local;
      }
    }
    __syncthreads();  // A_shared, B_shared: read above by AB, overwritten by the next k_outer
  }
  #pragma unroll
  for (int i_inner = 0; i_inner < 8; ++i_inner) {
    if (i + i_inner < 1000 && j < 777) {  // tail of i, j
      C[(i + i_inner) * 777 + j] = alpha * AB[i_inner] + beta * C[(i + i_inner) * 777 + j];
    }
  }
}
