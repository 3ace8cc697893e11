// relu(x + 1), fused
//
// x: float [1000], row-major, read
// y: float [1000], row-major, written
//
// Launch: grid 4, block 256
// Requires: exactly these shapes, contiguous rows, no overlap of a written array with another

#include <cuda_runtime.h>

static __device__ __forceinline__ float max_f32(float a, float b) { return a < b ? b : a; }

extern "C" __global__ void __launch_bounds__(256)
shifted_relu(const float *__restrict__ x, float *__restrict__ y) {
  const int y_i_outer = blockIdx.x;
  const int y_i_inner = threadIdx.x;

  const int i = y_i_outer * 256 + y_i_inner;
  if (i < 1000) {  // tail of i
    y[i] = max_f32(x[i] + 1.0f, 0.0f);
  }
}

/// Returns whether two arrays overlap.
static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const char *a_begin = (const char *)a, *b_begin = (const char *)b;
  return a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

/// Returns the first requirement that these arguments violate, as a sentence, or null if none.
extern "C" const char *shifted_relu_requirement(const float *x, float *y, long long N) {
  if (N != 1000)
    return "N must be 1000, for which the kernel was generated";
  if (x == nullptr)
    return "x must not be null";
  if (y == nullptr)
    return "y must not be null";
  if ((size_t)x % 4 != 0)
    return "x must be aligned to 4 bytes";
  if ((size_t)y % 4 != 0)
    return "y must be aligned to 4 bytes";
  if (overlap(x, 1000LL * sizeof(float), y, 1000LL * sizeof(float)))
    return "x and y must not overlap";
  return nullptr;
}

/// Launches shifted_relu on `stream` and does not wait. It supports one shape only.
/// If a requirement is violated (see shifted_relu_requirement), it launches
/// nothing and returns cudaErrorInvalidValue.
extern "C" cudaError_t shifted_relu_launch(const float *x, float *y, long long N,
                                        cudaStream_t stream) {
  if (shifted_relu_requirement(x, y, N) != nullptr) {
    return cudaErrorInvalidValue;
  }
  shifted_relu<<<4, 256, 0, stream>>>(x, y);
  return cudaGetLastError();
}
