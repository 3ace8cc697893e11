extern "C" __global__ void __launch_bounds__(256)
gemm(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, float alpha,
     float beta) {
  const int j_i_outer = blockIdx.x;
  const int j_i_inner = threadIdx.x;

  const int i = (j_i_outer * 256 + j_i_inner) % 1000;
  const int j = (j_i_outer * 256 + j_i_inner) / 1000;
  if (j < 777) {  // tail of j
    float AB = 0.0f;
    for (int k = 0; k < 333; ++k) {
      AB += A[i * 333 + k] * B[k * 777 + j];
    }
    C[i * 777 + j] = alpha * AB + beta * (beta != 0.0f ? C[i * 777 + j] : 0.0f);
  }
}
