extern "C" __global__ void __launch_bounds__(256)
gemm(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, float alpha,
     float beta) {
  const int j_0 = blockIdx.x;
  const int i_0 = blockIdx.y;
  const int tid = threadIdx.x;
  __shared__ __align__(16) float A_shared[8 * 128];  // 128 x 8 tile of A, transposed
  // 8 x 128 tile of B, stored as k, j//4%2, j//8, j%4
  __shared__ __align__(16) float B_shared[8 * 2 * 16 * 4];
  float AB[8 * 8];  // 8 x 8 results of one thread
  float A_shared_local[8];  // 8 x 1 tile of A_shared
  float B_shared_local[8];  // 1 x 8 tile of B_shared

  const int A_i = i_0 * 128 + tid / 2;
  const int B_j = j_0 * 128 + tid % 32 * 4;
  #pragma unroll
  for (int i_2 = 0; i_2 < 8; ++i_2) {
    #pragma unroll
    for (int j_2 = 0; j_2 < 8; ++j_2) {
      AB[i_2 * 8 + j_2] = 0.0f;
    }
  }
  for (int k_outer = 0; k_outer < 42; ++k_outer) {
    const int B_k = k_outer * 8 + tid / 32;
    const int A_k = k_outer * 8 + tid % 2 * 4;
    const float4 A_v =
        A_i < 1000 && A_k < 332 ? *reinterpret_cast<const float4 *>(&A[A_i * 332 + A_k])
        : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    A_shared[tid % 2 * 512 + tid / 2] = A_v.x;
    A_shared[tid % 2 * 512 + 128 + tid / 2] = A_v.y;
    A_shared[tid % 2 * 512 + 256 + tid / 2] = A_v.z;
    A_shared[tid % 2 * 512 + 384 + tid / 2] = A_v.w;
    const float4 B_v =
        B_k < 332 && B_j < 776 ? *reinterpret_cast<const float4 *>(&B[B_k * 776 + B_j])
        : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    *reinterpret_cast<float4 *>(&B_shared[tid / 32 * 128 + tid % 2 * 64 + tid / 2 % 16 * 4]) = B_v;
    __syncthreads();  // A_shared, B_shared: written above, read below
    #pragma unroll
    for (int k_inner = 0; k_inner < 8; ++k_inner) {
      #pragma unroll
      for (int i_outer = 0; i_outer < 2; ++i_outer) {
        const float4 A_shared_v =
            *reinterpret_cast<const float4 *>(&A_shared[k_inner * 128 + tid / 16 * 8 +
            i_outer * 4]);
        A_shared_local[i_outer * 4] = A_shared_v.x;
        A_shared_local[i_outer * 4 + 1] = A_shared_v.y;
        A_shared_local[i_outer * 4 + 2] = A_shared_v.z;
        A_shared_local[i_outer * 4 + 3] = A_shared_v.w;
      }
      #pragma unroll
      for (int j_outer = 0; j_outer < 2; ++j_outer) {
        const float4 B_shared_v =
            *reinterpret_cast<const float4 *>(&B_shared[k_inner * 128 + j_outer * 64 +
            tid % 16 * 4]);
        B_shared_local[j_outer * 4] = B_shared_v.x;
        B_shared_local[j_outer * 4 + 1] = B_shared_v.y;
        B_shared_local[j_outer * 4 + 2] = B_shared_v.z;
        B_shared_local[j_outer * 4 + 3] = B_shared_v.w;
      }
      #pragma unroll
      for (int i_2 = 0; i_2 < 8; ++i_2) {
        #pragma unroll
        for (int j_2 = 0; j_2 < 8; ++j_2) {
          AB[i_2 * 8 + j_2] += A_shared_local[i_2] * B_shared_local[j_2];
        }
      }
    }
    __syncthreads();  // A_shared, B_shared: read above, overwritten by the next k_outer
  }
  #pragma unroll
  for (int ax_i = 0; ax_i < 8; ++ax_i) {
    const int i = i_0 * 128 + tid / 16 * 8 + ax_i;
    #pragma unroll
    for (int ax_j_outer = 0; ax_j_outer < 2; ++ax_j_outer) {
      const int j = j_0 * 128 + tid % 16 * 8 + ax_j_outer * 4;
      if (i < 1000 && j < 776) {  // tail of i, j
        const float4 C_v =
            beta != 0.0f ? *reinterpret_cast<const float4 *>(&C[i * 776 + j])
            : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        *reinterpret_cast<float4 *>(&C[i * 776 + j]) =
            make_float4(alpha * AB[ax_i * 8 + ax_j_outer * 4] + beta * C_v.x,
            alpha * AB[ax_i * 8 + ax_j_outer * 4 + 1] + beta * C_v.y,
            alpha * AB[ax_i * 8 + ax_j_outer * 4 + 2] + beta * C_v.z,
            alpha * AB[ax_i * 8 + ax_j_outer * 4 + 3] + beta * C_v.w);
      }
    }
  }
}
