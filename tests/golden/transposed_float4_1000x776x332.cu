extern "C" __global__ void __launch_bounds__(256)
accumulate_nt(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C) {
  const int j_0 = blockIdx.x;
  const int i_0 = blockIdx.y;
  const int tid = threadIdx.x;
  __shared__ __align__(16) float A_shared[16 * 64];  // 64 x 16 tile of A, transposed
  __shared__ __align__(16) float B_shared[16 * 64];  // 64 x 16 tile of B, transposed
  float AB[4 * 4];  // 4 x 4 results of one thread
  float A_shared_local[4];  // 4 x 1 tile of A_shared
  float B_shared_local[4];  // 4 x 1 tile of B_shared

  const int A_i = i_0 * 64 + tid / 4;
  const int B_j = j_0 * 64 + tid / 4;
  const int j = j_0 * 64 + tid % 16 * 4;
  #pragma unroll
  for (int i_2 = 0; i_2 < 4; ++i_2) {
    #pragma unroll
    for (int j_2 = 0; j_2 < 4; ++j_2) {
      AB[i_2 * 4 + j_2] = 0.0f;
    }
  }
  for (int k_outer = 0; k_outer < 21; ++k_outer) {
    const int A_k = k_outer * 16 + tid % 4 * 4;
    const float4 A_v =
        A_i < 1000 && A_k < 332 ? *reinterpret_cast<const float4 *>(&A[A_i * 332 + A_k])
        : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    A_shared[tid % 4 * 256 + tid / 4] = A_v.x;
    A_shared[tid % 4 * 256 + 64 + tid / 4] = A_v.y;
    A_shared[tid % 4 * 256 + 128 + tid / 4] = A_v.z;
    A_shared[tid % 4 * 256 + 192 + tid / 4] = A_v.w;
    const float4 B_v =
        B_j < 776 && A_k < 332 ? *reinterpret_cast<const float4 *>(&B[B_j * 332 + A_k])
        : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    B_shared[tid % 4 * 256 + tid / 4] = B_v.x;
    B_shared[tid % 4 * 256 + 64 + tid / 4] = B_v.y;
    B_shared[tid % 4 * 256 + 128 + tid / 4] = B_v.z;
    B_shared[tid % 4 * 256 + 192 + tid / 4] = B_v.w;
    __syncthreads();  // A_shared, B_shared: written above, read below
    #pragma unroll
    for (int k_inner = 0; k_inner < 16; ++k_inner) {
      const float4 A_shared_v =
          *reinterpret_cast<const float4 *>(&A_shared[k_inner * 64 + tid / 16 * 4]);
      A_shared_local[0] = A_shared_v.x;
      A_shared_local[1] = A_shared_v.y;
      A_shared_local[2] = A_shared_v.z;
      A_shared_local[3] = A_shared_v.w;
      const float4 B_shared_v =
          *reinterpret_cast<const float4 *>(&B_shared[k_inner * 64 + tid % 16 * 4]);
      B_shared_local[0] = B_shared_v.x;
      B_shared_local[1] = B_shared_v.y;
      B_shared_local[2] = B_shared_v.z;
      B_shared_local[3] = B_shared_v.w;
      #pragma unroll
      for (int i_2 = 0; i_2 < 4; ++i_2) {
        #pragma unroll
        for (int j_2 = 0; j_2 < 4; ++j_2) {
          AB[i_2 * 4 + j_2] += A_shared_local[i_2] * B_shared_local[j_2];
        }
      }
    }
    __syncthreads();  // A_shared, B_shared: read above, overwritten by the next k_outer
  }
  #pragma unroll
  for (int ax_i = 0; ax_i < 4; ++ax_i) {
    const int i = i_0 * 64 + tid / 16 * 4 + ax_i;
    if (i < 1000 && j < 776) {  // tail of i, j
      const float4 C_v = *reinterpret_cast<const float4 *>(&C[i * 776 + j]);
      *reinterpret_cast<float4 *>(&C[i * 776 + j]) =
          make_float4(C_v.x + AB[ax_i * 4], C_v.y + AB[ax_i * 4 + 1], C_v.z + AB[ax_i * 4 + 2],
          C_v.w + AB[ax_i * 4 + 3]);
    }
  }
}
