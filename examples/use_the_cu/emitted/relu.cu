// principles/unfused: relu(x + 1) by two kernels, through global memory
//
// x: float [N], row-major, read
// y: float [N], row-major, written
// t: float [N], row-major, workspace
//
// Launch: relu_t, grid (N + 255)//256, block 256
// Launch: relu_y, grid (N + 255)//256, block 256
// Workspace: N*4 bytes
// Requires: N at least 1, at most 1073741824
// Requires: no overlap of a written array with another
// If N is 0, nothing is launched
// Target: sm_90
//
// Schedule:
//   auto i = s.loop("i");
//   auto [i_outer, i_inner] = s.split(i, {infer, 256});
//   s.bind(i_outer, Axis::block_x);
//   s.bind(i_inner, Axis::thread_x);
//   auto y_i = s.loop("y_i");
//   auto [y_i_outer, y_i_inner] = s.split(y_i, {infer, 256});
//   s.bind(y_i_outer, Axis::block_x);
//   s.bind(y_i_inner, Axis::thread_x);

#include "relu.h"

#include <cuda_runtime.h>

static __device__ __forceinline__ float max_f32(float a, float b) { return a < b ? b : a; }

extern "C" __global__ void __launch_bounds__(256)
relu_t(const float *__restrict__ x, float *__restrict__ t, int N) {
  const int i_outer = blockIdx.x;
  const int i_inner = threadIdx.x;

  const int i = i_outer * 256 + i_inner;
  if (i < N) {  // tail of i
    t[i] = x[i] + 1.0f;
  }
}

extern "C" __global__ void __launch_bounds__(256)
relu_y(float *__restrict__ y, const float *__restrict__ t, int N) {
  const int y_i_outer = blockIdx.x;
  const int y_i_inner = threadIdx.x;

  const int i = y_i_outer * 256 + y_i_inner;
  if (i < N) {  // tail of i
    y[i] = max_f32(t[i], 0.0f);
  }
}

/// Returns whether two arrays overlap.
static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const char *a_begin = (const char *)a, *b_begin = (const char *)b;
  return a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

extern "C" size_t relu_workspace_bytes(long long N) { return N * 4; }

/// Returns the first requirement that these arguments violate, as a sentence, or null if none.
extern "C" const char *relu_requirement(const float *x, float *y, long long N,
                                        const void *workspace, size_t workspace_bytes) {
  if (N < 0 || 1073741824 < N)
    return "N must be from 0 to 1073741824";
  if (N == 0)
    return nullptr;  // nothing is launched, so the arrays are not checked
  if (x == nullptr)
    return "x must not be null";
  if (y == nullptr)
    return "y must not be null";
  if (workspace == nullptr)
    return "workspace must not be null";
  if ((size_t)workspace % 256 != 0)
    return "workspace must be aligned to 256 bytes";
  if (workspace_bytes < relu_workspace_bytes(N))
    return "workspace_bytes must be at least relu_workspace_bytes(N)";
  if ((size_t)x % 4 != 0)
    return "x must be aligned to 4 bytes";
  if ((size_t)y % 4 != 0)
    return "y must be aligned to 4 bytes";
  if (overlap(x, N * sizeof(float), y, N * sizeof(float)))
    return "x and y must not overlap";
  if (overlap(x, N * sizeof(float), workspace, N * 4))
    return "x and workspace must not overlap";
  if (overlap(y, N * sizeof(float), workspace, N * 4))
    return "y and workspace must not overlap";
  return nullptr;
}

/// Launches all kernels in order on `stream` and does not wait.
/// If a requirement is violated (see relu_requirement), it launches
/// nothing and returns cudaErrorInvalidValue.
/// If N is 0, it launches nothing and returns cudaSuccess.
/// `workspace` holds intermediate results: at least relu_workspace_bytes(N) bytes, aligned to 256.
extern "C" cudaError_t relu_launch(const float *x, float *y, long long N, void *workspace,
                                   size_t workspace_bytes, cudaStream_t stream) {
  if (relu_requirement(x, y, N, workspace, workspace_bytes) != nullptr) {
    return cudaErrorInvalidValue;
  }
  if (N == 0) {
    return cudaSuccess;  // there is nothing to compute
  }
  float *t = (float *)workspace;
  relu_t<<<(unsigned int)((N + 255) / 256), 256, 0, stream>>>(x, t, N);
  relu_y<<<(unsigned int)((N + 255) / 256), 256, 0, stream>>>(y, t, N);
  return cudaGetLastError();
}
