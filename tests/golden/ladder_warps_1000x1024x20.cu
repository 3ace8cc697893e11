extern "C" __global__ void __launch_bounds__(256, 2)
gemm(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, float alpha,
     float beta) {
  const int j_0 = blockIdx.x;
  const int i_0 = blockIdx.y;
  const int tid = threadIdx.x;
  // 128 x 8 tile of A, transposed, rows padded, for 2 iterations in flight
  __shared__ __align__(16) float A_shared[2 * 8 * 132];
  // 8 x 128 tile of B, for 2 iterations in flight
  __shared__ __align__(16) float B_shared[2 * 8 * 128];
  float AB[8 * 8];  // 8 x 8 results of one thread
  float A_local[4];  // 1 x 4 tile of A
  float B_local[4];  // 1 x 4 tile of B
  float A_shared_local[8];  // 8 x 1 tile of A_shared
  float B_shared_local[8];  // 1 x 8 tile of B_shared

  const int A_i = i_0 * 128 + tid / 2;
  const int B_k = tid / 32;
  const int B_k_1 = tid / 32 + 8;
  const int A_k = tid % 2 * 4;
  const int B_j = j_0 * 128 + tid % 32 * 4;
  const int A_k_1 = tid % 2 * 4 + 8;
  if (i_0 < 7) {  // all tiles are full
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
    const float4 A_v = *reinterpret_cast<const float4 *>(&A[A_i * 20 + A_k]);
    A_local[0] = A_v.x;
    A_local[1] = A_v.y;
    A_local[2] = A_v.z;
    A_local[3] = A_v.w;
    const float4 B_v = *reinterpret_cast<const float4 *>(&B[B_k * 1024 + B_j]);
    B_local[0] = B_v.x;
    B_local[1] = B_v.y;
    B_local[2] = B_v.z;
    B_local[3] = B_v.w;
    #pragma unroll
    for (int ax_A_k_inner = 0; ax_A_k_inner < 4; ++ax_A_k_inner) {
      A_shared[tid % 2 * 528 + ax_A_k_inner * 132 + tid / 2] = A_local[ax_A_k_inner];
    }
    *reinterpret_cast<float4 *>(&B_shared[tid * 4]) =
        make_float4(B_local[0], B_local[1], B_local[2], B_local[3]);
    const float4 A_v_1 = *reinterpret_cast<const float4 *>(&A[A_i * 20 + A_k_1]);
    A_local[0] = A_v_1.x;
    A_local[1] = A_v_1.y;
    A_local[2] = A_v_1.z;
    A_local[3] = A_v_1.w;
    const float4 B_v_1 = *reinterpret_cast<const float4 *>(&B[B_k_1 * 1024 + B_j]);
    B_local[0] = B_v_1.x;
    B_local[1] = B_v_1.y;
    B_local[2] = B_v_1.z;
    B_local[3] = B_v_1.w;
    __syncthreads();  // A_shared, B_shared: written above, read below
    #pragma unroll
    for (int k_inner = 0; k_inner < 8; ++k_inner) {
      #pragma unroll
      for (int i_0_1 = 0; i_0_1 < 2; ++i_0_1) {
        const float4 A_shared_v =
            *reinterpret_cast<const float4 *>(&A_shared[k_inner * 132 + i_0_1 * 64 + tid / 64 * 16 +
            tid / 8 % 4 * 4]);
        A_shared_local[i_0_1 * 4] = A_shared_v.x;
        A_shared_local[i_0_1 * 4 + 1] = A_shared_v.y;
        A_shared_local[i_0_1 * 4 + 2] = A_shared_v.z;
        A_shared_local[i_0_1 * 4 + 3] = A_shared_v.w;
      }
      #pragma unroll
      for (int j_0_1 = 0; j_0_1 < 2; ++j_0_1) {
        const float4 B_shared_v =
            *reinterpret_cast<const float4 *>(&B_shared[k_inner * 128 + j_0_1 * 64 +
            tid / 32 % 2 * 32 + tid % 8 * 4]);
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
    #pragma unroll
    for (int ax_A_k_inner = 0; ax_A_k_inner < 4; ++ax_A_k_inner) {
      A_shared[tid % 2 * 528 + ax_A_k_inner * 132 + tid / 2 + 1056] = A_local[ax_A_k_inner];
    }
    *reinterpret_cast<float4 *>(&B_shared[tid * 4 + 1024]) =
        make_float4(B_local[0], B_local[1], B_local[2], B_local[3]);
    // A_shared, B_shared: written above, read below; read above, overwritten below
    __syncthreads();
    for (int k_outer = 0; k_outer < 2; ++k_outer) {
      const int B_k_2 = (k_outer + 1) * 8 + tid / 32 + 8;
      const int A_k_2 = (k_outer + 1) * 8 + tid % 2 * 4 + 8;
      if (k_outer + 1 + 1 < 3) {
        const float4 A_v_2 =
            A_k_2 < 20 ? *reinterpret_cast<const float4 *>(&A[A_i * 20 + A_k_2])
            : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        A_local[0] = A_v_2.x;
        A_local[1] = A_v_2.y;
        A_local[2] = A_v_2.z;
        A_local[3] = A_v_2.w;
        const float4 B_v_2 =
            B_k_2 < 20 ? *reinterpret_cast<const float4 *>(&B[B_k_2 * 1024 + B_j])
            : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        B_local[0] = B_v_2.x;
        B_local[1] = B_v_2.y;
        B_local[2] = B_v_2.z;
        B_local[3] = B_v_2.w;
      }
      #pragma unroll
      for (int k_inner = 0; k_inner < 8; ++k_inner) {
        #pragma unroll
        for (int i_0_1 = 0; i_0_1 < 2; ++i_0_1) {
          const float4 A_shared_v =
              *reinterpret_cast<const float4 *>(&A_shared[(k_outer + 1) % 2 * 1056 + k_inner * 132 +
              i_0_1 * 64 + tid / 64 * 16 + tid / 8 % 4 * 4]);
          A_shared_local[i_0_1 * 4] = A_shared_v.x;
          A_shared_local[i_0_1 * 4 + 1] = A_shared_v.y;
          A_shared_local[i_0_1 * 4 + 2] = A_shared_v.z;
          A_shared_local[i_0_1 * 4 + 3] = A_shared_v.w;
        }
        #pragma unroll
        for (int j_0_1 = 0; j_0_1 < 2; ++j_0_1) {
          const float4 B_shared_v =
              *reinterpret_cast<const float4 *>(&B_shared[(k_outer + 1) % 2 * 1024 + k_inner * 128 +
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
      if (k_outer + 1 + 1 < 3) {
        #pragma unroll
        for (int ax_A_k_inner = 0; ax_A_k_inner < 4; ++ax_A_k_inner) {
          A_shared[k_outer * 1056 + tid % 2 * 528 + ax_A_k_inner * 132 + tid / 2] =
              A_local[ax_A_k_inner];
        }
        *reinterpret_cast<float4 *>(&B_shared[k_outer * 1024 + tid * 4]) =
            make_float4(B_local[0], B_local[1], B_local[2], B_local[3]);
      }
      __syncthreads();  // A_shared, B_shared: written above, read by the next k_outer
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
  } else {
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
    const float4 A_v =
        A_i < 1000 ? *reinterpret_cast<const float4 *>(&A[A_i * 20 + A_k])
        : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    A_local[0] = A_v.x;
    A_local[1] = A_v.y;
    A_local[2] = A_v.z;
    A_local[3] = A_v.w;
    const float4 B_v = *reinterpret_cast<const float4 *>(&B[B_k * 1024 + B_j]);
    B_local[0] = B_v.x;
    B_local[1] = B_v.y;
    B_local[2] = B_v.z;
    B_local[3] = B_v.w;
    #pragma unroll
    for (int ax_A_k_inner = 0; ax_A_k_inner < 4; ++ax_A_k_inner) {
      A_shared[tid % 2 * 528 + ax_A_k_inner * 132 + tid / 2] = A_local[ax_A_k_inner];
    }
    *reinterpret_cast<float4 *>(&B_shared[tid * 4]) =
        make_float4(B_local[0], B_local[1], B_local[2], B_local[3]);
    const float4 A_v_1 =
        A_i < 1000 ? *reinterpret_cast<const float4 *>(&A[A_i * 20 + A_k_1])
        : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    A_local[0] = A_v_1.x;
    A_local[1] = A_v_1.y;
    A_local[2] = A_v_1.z;
    A_local[3] = A_v_1.w;
    const float4 B_v_1 = *reinterpret_cast<const float4 *>(&B[B_k_1 * 1024 + B_j]);
    B_local[0] = B_v_1.x;
    B_local[1] = B_v_1.y;
    B_local[2] = B_v_1.z;
    B_local[3] = B_v_1.w;
    __syncthreads();  // A_shared, B_shared: written above, read below
    #pragma unroll
    for (int k_inner = 0; k_inner < 8; ++k_inner) {
      #pragma unroll
      for (int i_0_1 = 0; i_0_1 < 2; ++i_0_1) {
        const float4 A_shared_v =
            *reinterpret_cast<const float4 *>(&A_shared[k_inner * 132 + i_0_1 * 64 + tid / 64 * 16 +
            tid / 8 % 4 * 4]);
        A_shared_local[i_0_1 * 4] = A_shared_v.x;
        A_shared_local[i_0_1 * 4 + 1] = A_shared_v.y;
        A_shared_local[i_0_1 * 4 + 2] = A_shared_v.z;
        A_shared_local[i_0_1 * 4 + 3] = A_shared_v.w;
      }
      #pragma unroll
      for (int j_0_1 = 0; j_0_1 < 2; ++j_0_1) {
        const float4 B_shared_v =
            *reinterpret_cast<const float4 *>(&B_shared[k_inner * 128 + j_0_1 * 64 +
            tid / 32 % 2 * 32 + tid % 8 * 4]);
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
    #pragma unroll
    for (int ax_A_k_inner = 0; ax_A_k_inner < 4; ++ax_A_k_inner) {
      A_shared[tid % 2 * 528 + ax_A_k_inner * 132 + tid / 2 + 1056] = A_local[ax_A_k_inner];
    }
    *reinterpret_cast<float4 *>(&B_shared[tid * 4 + 1024]) =
        make_float4(B_local[0], B_local[1], B_local[2], B_local[3]);
    // A_shared, B_shared: written above, read below; read above, overwritten below
    __syncthreads();
    for (int k_outer = 0; k_outer < 2; ++k_outer) {
      const int B_k_2 = (k_outer + 1) * 8 + tid / 32 + 8;
      const int A_k_2 = (k_outer + 1) * 8 + tid % 2 * 4 + 8;
      if (k_outer + 1 + 1 < 3) {
        const float4 A_v_2 =
            A_i < 1000 && A_k_2 < 20 ? *reinterpret_cast<const float4 *>(&A[A_i * 20 + A_k_2])
            : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        A_local[0] = A_v_2.x;
        A_local[1] = A_v_2.y;
        A_local[2] = A_v_2.z;
        A_local[3] = A_v_2.w;
        const float4 B_v_2 =
            B_k_2 < 20 ? *reinterpret_cast<const float4 *>(&B[B_k_2 * 1024 + B_j])
            : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        B_local[0] = B_v_2.x;
        B_local[1] = B_v_2.y;
        B_local[2] = B_v_2.z;
        B_local[3] = B_v_2.w;
      }
      #pragma unroll
      for (int k_inner = 0; k_inner < 8; ++k_inner) {
        #pragma unroll
        for (int i_0_1 = 0; i_0_1 < 2; ++i_0_1) {
          const float4 A_shared_v =
              *reinterpret_cast<const float4 *>(&A_shared[(k_outer + 1) % 2 * 1056 + k_inner * 132 +
              i_0_1 * 64 + tid / 64 * 16 + tid / 8 % 4 * 4]);
          A_shared_local[i_0_1 * 4] = A_shared_v.x;
          A_shared_local[i_0_1 * 4 + 1] = A_shared_v.y;
          A_shared_local[i_0_1 * 4 + 2] = A_shared_v.z;
          A_shared_local[i_0_1 * 4 + 3] = A_shared_v.w;
        }
        #pragma unroll
        for (int j_0_1 = 0; j_0_1 < 2; ++j_0_1) {
          const float4 B_shared_v =
              *reinterpret_cast<const float4 *>(&B_shared[(k_outer + 1) % 2 * 1024 + k_inner * 128 +
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
      if (k_outer + 1 + 1 < 3) {
        #pragma unroll
        for (int ax_A_k_inner = 0; ax_A_k_inner < 4; ++ax_A_k_inner) {
          A_shared[k_outer * 1056 + tid % 2 * 528 + ax_A_k_inner * 132 + tid / 2] =
              A_local[ax_A_k_inner];
        }
        *reinterpret_cast<float4 *>(&B_shared[k_outer * 1024 + tid * 4]) =
            make_float4(B_local[0], B_local[1], B_local[2], B_local[3]);
      }
      __syncthreads();  // A_shared, B_shared: written above, read by the next k_outer
    }
    #pragma unroll
    for (int ax_i_0 = 0; ax_i_0 < 2; ++ax_i_0) {
      #pragma unroll
      for (int ax_i_1 = 0; ax_i_1 < 4; ++ax_i_1) {
        const int i = i_0 * 128 + ax_i_0 * 64 + tid / 64 * 16 + tid / 8 % 4 * 4 + ax_i_1;
        #pragma unroll
        for (int ax_j_0 = 0; ax_j_0 < 2; ++ax_j_0) {
          const int j = j_0 * 128 + ax_j_0 * 64 + tid / 32 % 2 * 32 + tid % 8 * 4;
          if (i < 1000) {  // tail of i
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
  }
}
