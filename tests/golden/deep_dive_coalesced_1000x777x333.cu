extern "C" __global__ void __launch_bounds__(256)
gemm(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, float alpha,
     float beta) {
  const int i_j_outer = blockIdx.x;
  const int i_j_inner = threadIdx.x;

  const int i = (i_j_outer * 256 + i_j_inner) / 777;
  const int j = (i_j_outer * 256 + i_j_inner) % 777;
  if (i < 1000) {  // tail of i
    float AB = 0.0f;
    for (int k = 0; k < 333; ++k) {
      AB += A[i * 333 + k] * B[k * 777 + j];
    }
    C[i * 777 + j] = alpha * AB + beta * (beta != 0.0f ? C[i * 777 + j] : 0.0f);
  }
}
