/// Starts to copy 4 bytes from global to shared memory.
static __device__ __forceinline__ void copy_async_4(void *to, const void *from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned int)__cvta_generic_to_shared(to)),
               "l"(__cvta_generic_to_global(from))
               : "memory");
}
/// Starts to copy 16 bytes from global to shared memory.
static __device__ __forceinline__ void copy_async_16(void *to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned int)__cvta_generic_to_shared(to)),
               "l"(__cvta_generic_to_global(from))
               : "memory");
}
/// Ends the group of the copies that this thread has started.
static __device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most `pending` of this thread's latest groups have not arrived.
template <int pending> static __device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

extern "C" __global__ void __launch_bounds__(256, 2)
gemm(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, float alpha,
     float beta) {
  const int j_0 = blockIdx.x;
  const int i_0 = blockIdx.y;
  const int tid = threadIdx.x;
  // 128 x 16 tile of A, transposed, rows padded, for 2 iterations in flight
  __shared__ __align__(16) float A_shared[2 * 16 * 132];
  // 16 x 128 tile of B, for 2 iterations in flight
  __shared__ __align__(16) float B_shared[2 * 16 * 128];
  float AB[8 * 8];  // 8 x 8 results of one thread
  float A_shared_local[8];  // 8 x 1 tile of A_shared
  float B_shared_local[8];  // 1 x 8 tile of B_shared

  const int A_k = tid % 16;
  const int B_j = j_0 * 128 + tid % 32 * 4;
  #pragma unroll
  for (int i_1 = 0; i_1 < 2; ++i_1) {
    #pragma unroll
    for (int i_4 = 0; i_4 < 4; ++i_4) {
      #pragma unroll
      for (int j_1 = 0; j_1 < 2; ++j_1) {
        #pragma unroll
        for (int j_4 = 0; j_4 < 4; ++j_4) {
          AB[i_1 * 32 + i_4 * 8 + j_1 * 4 + j_4] = 0.0f;
        }
      }
    }
  }
  #pragma unroll
  for (int n_outer = 0; n_outer < 8; ++n_outer) {
    const int A_i = i_0 * 128 + n_outer * 16 + tid / 16;
    copy_async_4(&A_shared[tid % 16 * 132 + n_outer * 16 + tid / 16], &A[A_i * 1024 + A_k]);
  }
  #pragma unroll
  for (int n_outer = 0; n_outer < 2; ++n_outer) {
    const int B_k = n_outer * 8 + tid / 32;
    copy_async_16(&B_shared[n_outer * 1024 + tid * 4], &B[B_k * 1024 + B_j]);
  }
  commit_copies();  // A_shared, B_shared
  for (int k_outer = 0; k_outer < 64; ++k_outer) {
    const int A_k_1 = k_outer * 16 + tid % 16 + 16;
    wait_copies<0>();  // A_shared, B_shared: copied above, read below
    // A_shared, B_shared: written above, read below; read above, overwritten by the next k_outer
    __syncthreads();
    if (k_outer + 1 < 64) {  // not in the last iteration of k_outer
      #pragma unroll
      for (int n_outer = 0; n_outer < 8; ++n_outer) {
        const int A_i = i_0 * 128 + n_outer * 16 + tid / 16;
        copy_async_4(&A_shared[(k_outer + 1) % 2 * 2112 + tid % 16 * 132 + n_outer * 16 + tid / 16],
            &A[A_i * 1024 + A_k_1]);
      }
      #pragma unroll
      for (int n_outer = 0; n_outer < 2; ++n_outer) {
        const int B_k = k_outer * 16 + n_outer * 8 + tid / 32 + 16;
        copy_async_16(&B_shared[(k_outer + 1) % 2 * 2048 + n_outer * 1024 + tid * 4],
            &B[B_k * 1024 + B_j]);
      }
    }
    commit_copies();  // A_shared, B_shared
    #pragma unroll
    for (int k_inner = 0; k_inner < 16; ++k_inner) {
      #pragma unroll
      for (int i_0_1 = 0; i_0_1 < 2; ++i_0_1) {
        const float4 A_shared_v =
            *reinterpret_cast<const float4 *>(&A_shared[k_outer % 2 * 2112 + k_inner * 132 +
            i_0_1 * 64 + tid / 64 * 16 + tid / 8 % 4 * 4]);
        A_shared_local[i_0_1 * 4] = A_shared_v.x;
        A_shared_local[i_0_1 * 4 + 1] = A_shared_v.y;
        A_shared_local[i_0_1 * 4 + 2] = A_shared_v.z;
        A_shared_local[i_0_1 * 4 + 3] = A_shared_v.w;
      }
      #pragma unroll
      for (int j_0_1 = 0; j_0_1 < 2; ++j_0_1) {
        const float4 B_shared_v =
            *reinterpret_cast<const float4 *>(&B_shared[k_outer % 2 * 2048 + k_inner * 128 +
            j_0_1 * 64 + tid / 32 % 2 * 32 + tid % 8 * 4]);
        B_shared_local[j_0_1 * 4] = B_shared_v.x;
        B_shared_local[j_0_1 * 4 + 1] = B_shared_v.y;
        B_shared_local[j_0_1 * 4 + 2] = B_shared_v.z;
        B_shared_local[j_0_1 * 4 + 3] = B_shared_v.w;
      }
      #pragma unroll
      for (int i_1 = 0; i_1 < 2; ++i_1) {
        #pragma unroll
        for (int i_4 = 0; i_4 < 4; ++i_4) {
          #pragma unroll
          for (int j_1 = 0; j_1 < 2; ++j_1) {
            #pragma unroll
            for (int j_4 = 0; j_4 < 4; ++j_4) {
              AB[i_1 * 32 + i_4 * 8 + j_1 * 4 + j_4] +=
                  A_shared_local[i_1 * 4 + i_4] * B_shared_local[j_1 * 4 + j_4];
            }
          }
        }
      }
    }
  }
  #pragma unroll
  for (int ax_i_0 = 0; ax_i_0 < 2; ++ax_i_0) {
    #pragma unroll
    for (int ax_i_1 = 0; ax_i_1 < 4; ++ax_i_1) {
      const int i = i_0 * 128 + ax_i_0 * 64 + tid / 64 * 16 + tid / 8 % 4 * 4 + ax_i_1;
      #pragma unroll
      for (int ax_j_0 = 0; ax_j_0 < 2; ++ax_j_0) {
        const int j = j_0 * 128 + ax_j_0 * 64 + tid / 32 % 2 * 32 + tid % 8 * 4;
        const float4 C_v =
            beta != 0.0f ? *reinterpret_cast<const float4 *>(&C[i * 1024 + j])
            : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        *reinterpret_cast<float4 *>(&C[i * 1024 + j]) =
            make_float4(alpha * AB[ax_i_0 * 32 + ax_i_1 * 8 + ax_j_0 * 4] + beta * C_v.x,
            alpha * AB[ax_i_0 * 32 + ax_i_1 * 8 + ax_j_0 * 4 + 1] + beta * C_v.y,
            alpha * AB[ax_i_0 * 32 + ax_i_1 * 8 + ax_j_0 * 4 + 2] + beta * C_v.z,
            alpha * AB[ax_i_0 * 32 + ax_i_1 * 8 + ax_j_0 * 4 + 3] + beta * C_v.w);
      }
    }
  }
}
