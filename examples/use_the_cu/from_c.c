/* Calls both kernels from C: errors, sizes of 0, strides, a stream and a workspace. */

#include "product.h"
#include "relu.h"

#include <stdio.h>
#include <stdlib.h>

/* Ends the program where a call of the CUDA runtime failed. */
static void must(cudaError_t error, const char *what) {
  if (error != cudaSuccess) {
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    exit(1);
  }
}

/* C = alpha*A*B + beta*C. Says which requirement is not met. */
static cudaError_t product(const float *A, const float *B, float *C, long long M, long long N, long long K,
                           long long lda, long long ldb, long long ldc, float alpha, float beta,
                           cudaStream_t stream) {
  cudaError_t error = product_launch(A, B, C, M, N, K, lda, ldb, ldc, alpha, beta, stream);
  const char *requirement = product_requirement(A, B, C, M, N, K, lda, ldb, ldc);
  if (error == cudaErrorInvalidValue && requirement)
    printf("product: %s\n", requirement);
  return error;
}

static float *filled(size_t elements, float value) {
  float *host = malloc(elements * sizeof(float)), *device = NULL;
  if (!host)
    exit(1);
  for (size_t n = 0; n < elements; ++n)
    host[n] = value;
  must(cudaMalloc((void **)&device, elements * sizeof(float)), "cudaMalloc");
  must(cudaMemcpy(device, host, elements * sizeof(float), cudaMemcpyHostToDevice), "cudaMemcpy");
  free(host);
  return device;
}

/* An 8 x 12 product in a matrix with rows of 16 elements, then its first row through relu, on one stream. */
static int compute(void) {
  const long long M = 8, N = 12, K = 20, ldc = 16;
  float *A = filled(M * K, 0.5f), *B = filled(K * N, 2.0f), *C = filled(M * ldc, -1.0f), *y = filled(N, 0.0f);
  cudaStream_t stream;
  must(cudaStreamCreate(&stream), "cudaStreamCreate");
  must(product(A, B, C, M, N, K, K, N, ldc, 1.0f, 0.0f, stream), "product_launch");

  size_t bytes = relu_workspace_bytes(N);
  void *workspace;
  must(cudaMalloc(&workspace, bytes), "cudaMalloc");
  must(relu_launch(C, y, N, workspace, bytes, stream), "relu_launch");

  float row[16], result[12];
  must(cudaMemcpyAsync(row, C + 7 * ldc, sizeof(row), cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  must(cudaMemcpyAsync(result, y, sizeof(result), cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
  must(cudaStreamSynchronize(stream), "product and relu"); /* what went wrong in a kernel shows here */
  printf("C[7][11] = %g, beyond it %g, relu(C[0][11] + 1) = %g\n", row[11], row[12], result[11]);
  return row[11] == 20.0f && row[12] == -1.0f && result[11] == 21.0f ? 0 : 1;
}

int main(void) {
  /* None of this needs a device: a launch that computes nothing, and launches that are refused. */
  if (product(NULL, NULL, NULL, 0, 12, 20, 20, 12, 12, 1.0f, 0.0f, 0) != cudaSuccess)
    return 1;
  if (product(NULL, NULL, NULL, 8, 12, 20, 20, 12, 8, 1.0f, 0.0f, 0) != cudaErrorInvalidValue ||
      product(NULL, NULL, NULL, 8, 12, 20, 20, 12, 12, 1.0f, 0.0f, 0) != cudaErrorInvalidValue ||
      product(NULL, NULL, NULL, 8, 13, 20, 20, 16, 16, 1.0f, 0.0f, 0) != cudaErrorInvalidValue)
    return 1;

  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    printf("no device: nothing was computed\n");
    return 0;
  }
  return compute();
}
