// deep_dive/tile1d: 64 x 64 tiles, 8 results per thread
//
// A: float [64, 8], row-major, read
// B: float [8, 64], row-major, read
// C: float [64, 64], row-major, read and written
// alpha: float
// beta: float
//
// Launch: grid 1, block 512, 4096 bytes of shared memory per block
// Requires: exactly these shapes, contiguous rows, no overlap of a written array with another
// Target: sm_80
//
// Schedule:
//   auto AB = s.block("AB");
//   s.set_scope(AB, Scope::local);
//   auto i = s.loop("i");
//   auto [i_0, i_1, i_2] = s.split(i, {infer, 8, 8});
//   auto j = s.loop("j");
//   auto [j_outer, j_inner] = s.split(j, {infer, 64});
//   auto k = s.loop("k");
//   auto [k_outer, k_inner] = s.split(k, {infer, 8});
//   s.reorder({i_0, j_outer, i_1, j_inner, k_outer, k_inner, i_2});
//   auto i_1_j_inner = s.fuse(i_1, j_inner);
//   auto C = s.block("C");
//   s.reverse_compute_at(C, i_1_j_inner);
//   s.bind(i_0, Axis::block_y);
//   s.bind(j_outer, Axis::block_x);
//   s.bind(i_1_j_inner, Axis::thread_x);
//   auto B_shared = s.cache_read(AB, "B", Scope::shared);
//   auto B_shared_local = s.cache_read(AB, "B_shared", Scope::local);
//   s.compute_at(B_shared_local, k_inner);
//   auto A_shared = s.cache_read(AB, "A", Scope::shared);
//   s.compute_at(A_shared, k_outer);
//   auto ax_A_i = s.loop("ax_A_i");
//   auto ax_A_k = s.loop("ax_A_k");
//   auto ax_A_i_ax_A_k = s.fuse(ax_A_i, ax_A_k);
//   s.bind(ax_A_i_ax_A_k, Axis::thread_x);
//   s.compute_at(B_shared, k_outer);
//   auto ax_B_k = s.loop("ax_B_k");
//   auto ax_B_j = s.loop("ax_B_j");
//   auto ax_B_k_ax_B_j = s.fuse(ax_B_k, ax_B_j);
//   s.bind(ax_B_k_ax_B_j, Axis::thread_x);
//   s.unroll(k_inner);
//   s.unroll(i_2);
//   auto ax_i = s.loop("ax_i");
//   s.unroll(ax_i);
//
// Build and run: nvcc -O3 -arch=native FILE.cu -o a.out && ./a.out

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" __global__ void __launch_bounds__(512)
gemm(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, float alpha,
     float beta) {
  const int tid = threadIdx.x;
  __shared__ float A_shared[64 * 8];  // 64 x 8 tile of A
  __shared__ float B_shared[8 * 64];  // 8 x 64 tile of B
  float AB[8];  // 8 x 1 results of one thread

  const int j = tid % 64;
  const int A_i = tid / 8;
  const int A_k = tid % 8;
  const int B_k = tid / 64;
  #pragma unroll
  for (int i_2 = 0; i_2 < 8; ++i_2) {
    AB[i_2] = 0.0f;
  }
  A_shared[tid] = A[A_i * 8 + A_k];
  B_shared[tid] = B[B_k * 64 + j];
  __syncthreads();  // A_shared, B_shared: written above, read below by AB
  #pragma unroll
  for (int k_inner = 0; k_inner < 8; ++k_inner) {
    const float B_shared_local = B_shared[k_inner * 64 + tid % 64];
    #pragma unroll
    for (int i_2 = 0; i_2 < 8; ++i_2) {
      AB[i_2] += A_shared[tid / 64 * 64 + i_2 * 8 + k_inner] * B_shared_local;
    }
  }
  #pragma unroll
  for (int ax_i = 0; ax_i < 8; ++ax_i) {
    const int i = tid / 64 * 8 + ax_i;
    C[i * 64 + j] = alpha * AB[ax_i] + beta * (beta != 0.0f ? C[i * 64 + j] : 0.0f);
  }
}

/// Returns whether two arrays overlap.
static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const char *a_begin = (const char *)a, *b_begin = (const char *)b;
  return a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}

/// Returns the first requirement that these arguments violate, as a sentence, or null if none.
extern "C" const char *gemm_requirement(const float *A, const float *B, float *C, long long M,
                                        long long N, long long K, long long lda, long long ldb,
                                        long long ldc) {
  if (M != 64)
    return "M must be 64, for which the kernel was generated";
  if (N != 64)
    return "N must be 64, for which the kernel was generated";
  if (K != 8)
    return "K must be 8, for which the kernel was generated";
  if (lda != 8)
    return "lda must be 8, for which the kernel was generated";
  if (ldb != 64)
    return "ldb must be 64, for which the kernel was generated";
  if (ldc != 64)
    return "ldc must be 64, for which the kernel was generated";
  if (A == nullptr)
    return "A must not be null";
  if (B == nullptr)
    return "B must not be null";
  if (C == nullptr)
    return "C must not be null";
  if ((size_t)A % 4 != 0)
    return "A must be aligned to 4 bytes";
  if ((size_t)B % 4 != 0)
    return "B must be aligned to 4 bytes";
  if ((size_t)C % 4 != 0)
    return "C must be aligned to 4 bytes";
  if (overlap(A, 512LL * sizeof(float), C, 4096LL * sizeof(float)))
    return "A and C must not overlap";
  if (overlap(B, 512LL * sizeof(float), C, 4096LL * sizeof(float)))
    return "B and C must not overlap";
  return nullptr;
}

/// Launches gemm on `stream` and does not wait. It supports one shape only.
/// If a requirement is violated (see gemm_requirement), it launches
/// nothing and returns cudaErrorInvalidValue.
extern "C" cudaError_t gemm_launch(const float *A, const float *B, float *C, long long M,
                                   long long N, long long K, long long lda, long long ldb,
                                   long long ldc, float alpha, float beta, cudaStream_t stream) {
  if (gemm_requirement(A, B, C, M, N, K, lda, ldb, ldc) != nullptr) {
    return cudaErrorInvalidValue;
  }
  gemm<<<1, 512, 0, stream>>>(A, B, C, alpha, beta);
  return cudaGetLastError();
}

/// A value in double, with the terms of an error bound for its float evaluation in any order of
/// summation: the magnitude without cancellation, and the roundings on the longest path.
struct Real {
  double value, magnitude;
  int roundings;
  __host__ __device__ Real(float x) : value(x), magnitude(x < 0 ? -x : x), roundings(0) {}
  __host__ __device__ Real(double v, double m, int r) : value(v), magnitude(m), roundings(r) {}
};
__host__ __device__ inline Real operator+(const Real &a, const Real &b) {
  int roundings = a.roundings > b.roundings ? a.roundings : b.roundings;
  return Real(a.value + b.value, a.magnitude + b.magnitude, roundings + 1);
}
__host__ __device__ inline Real operator*(const Real &a, const Real &b) {
  return Real(a.value * b.value, a.magnitude * b.magnitude, a.roundings + b.roundings + 1);
}
__host__ __device__ inline bool operator!=(const Real &a, const Real &b) { return a.value != b.value; }

/// The computation as plain loops, without a schedule.
struct Reference {
  // Arguments of the kernel.
  const float *A;
  const float *B;
  const float *C;
  // Results of the stages.
  Real *AB_reference;
  Real *C_reference;
  Real alpha;
  Real beta;

  __host__ __device__ Real AB_at(long long i, long long j) const {
    Real sum = Real(0.0f);
    for (long long k = 0; k < 8; ++k) {
      sum = sum + Real(A[i * 8 + k]) * Real(B[k * 64 + j]);
    }
    return sum;
  }

  __host__ __device__ Real C_at(long long i, long long j) const {
    return alpha * AB_reference[i * 64 + j] +
        beta * (beta != Real(0.0f) ? Real(C[i * 64 + j]) : Real(0.0f));
  }
};

static void must(cudaError_t error, const char *what) {
  if (error != cudaSuccess) {
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    exit(4);
  }
}

template <class T> static T *device_array(const std::vector<T> &values) {
  T *array;
  must(cudaMalloc(&array, values.size() * sizeof(T)), "cudaMalloc");
  must(cudaMemcpy(array, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  return array;
}

template <class T> static void read_back(std::vector<T> &values, const T *array) {
  must(cudaMemcpy(values.data(), array, values.size() * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
}

static unsigned long long random_bits() { // xorshift64*
  static unsigned long long state = 88172645463325252ULL;
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (state * 2685821657736338717ULL) >> 32;
}
static void randomize(float &x) { // [-1, 1)
  x = (float)(random_bits() >> 8) / 8388608.0f - 1.0f;
}

/// The bound on the error of any float evaluation.
static double bound_of(const Real &x) {
  double n_u = x.roundings * ldexp(1.0, -24);
  return n_u < 1 ? n_u / (1 - n_u) * x.magnitude : INFINITY;
}
/// The error of `got` over its bound; above 1 (or NaN) it is wrong.
static double error_of(float got, const Real &expected) {
  double error = fabs(got - expected.value);
  return error == 0 ? 0 : error / bound_of(expected);
}
static double value_of(const Real &x) { return x.value; }
static double value_of(float x) { return x; }

template <class T, class R>
static bool same(const char *name, const std::vector<T> &got, const std::vector<R> &expected) {
  size_t wrong = 0, unknown = 0;
  double largest = 0, widest = 0; // a bound above the largest result compares nothing
  for (const R &x : expected) {
    widest = fmax(widest, fabs(value_of(x)));
  }
  for (size_t n = 0; n < got.size(); ++n) {
    unknown += !(bound_of(expected[n]) <= widest);
    double error = error_of(got[n], expected[n]);
    if (!(error <= largest) && largest == largest) { // keeps a NaN
      largest = error;
    }
    if (!(error <= 1) && ++wrong <= 5) {
      printf("wrong: %s[%zu] is %.10g, expected %.10g\n", name, n, value_of(got[n]), value_of(expected[n]));
    }
  }
  printf("check: %s %s, %zu of %zu elements wrong, largest error %.3g of its bound\n", name,
         wrong ? "FAILED" : unknown ? "UNKNOWN" : "passed", wrong, got.size(), largest);
  if (unknown) {
    printf("unknown: %zu elements of %s have no useful error bound, so that nothing is known of them\n", unknown, name);
  }
  return wrong + unknown == 0;
}

int main() {
  cudaDeviceProp device;
  must(cudaGetDeviceProperties(&device, 0), "no usable device");
  printf("gemm on %s (sm_%d%d)\n", device.name, device.major, device.minor);
  std::vector<float> A(512);
  for (float &x : A) {
    randomize(x);
  }
  std::vector<float> B(512);
  for (float &x : B) {
    randomize(x);
  }
  std::vector<float> C(4096);
  for (float &x : C) {
    randomize(x);
  }
  float alpha;
  randomize(alpha);
  float beta;
  randomize(beta);

  float *A_device = device_array(A);
  float *B_device = device_array(B);
  float *C_device = device_array(C);
  const char *broken = gemm_requirement(A_device, B_device, C_device, 64, 64, 8, 8, 64, 64);
  if (broken) {
    fprintf(stderr, "gemm_launch: %s\n", broken);
    return 2;
  }
  must(gemm_launch(A_device, B_device, C_device, 64, 64, 8, 8, 64, 64, alpha, beta, nullptr),
      "gemm_launch");
  must(cudaDeviceSynchronize(), "gemm");
  std::vector<float> C_got(C.size());
  read_back(C_got, C_device);

  std::vector<Real> AB_reference(4096, Real(0.0f));
  std::vector<Real> C_reference(4096, Real(0.0f));
  Reference reference =
      {A.data(), B.data(), C.data(), AB_reference.data(), C_reference.data(), alpha, beta};
  for (long long n = 0; n < 4096; ++n) {
    reference.AB_reference[n] = reference.AB_at(n / 64, n % 64);
  }
  for (long long n = 0; n < 4096; ++n) {
    reference.C_reference[n] = reference.C_at(n / 64, n % 64);
  }

  bool good = true;
  good = same("C", C_got, C_reference) && good;

  cudaEvent_t begin, end;
  must(cudaEventCreate(&begin), "cudaEventCreate");
  must(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<float> milliseconds(20);
  for (int run = -10; run < 20; ++run) {  // 10 to warm up
    must(cudaEventRecord(begin), "cudaEventRecord");
    must(gemm_launch(A_device, B_device, C_device, 64, 64, 8, 8, 64, 64, alpha, beta, nullptr),
        "gemm_launch");
    must(cudaEventRecord(end), "cudaEventRecord");
    must(cudaEventSynchronize(end), "cudaEventSynchronize");
    if (run >= 0) {
      must(cudaEventElapsedTime(&milliseconds[run], begin, end), "cudaEventElapsedTime");
    }
  }
  std::sort(milliseconds.begin(), milliseconds.end());
  double median = (milliseconds[9] + milliseconds[10]) / 2;
  printf("time: %.4f ms (median of 20; %.4f to %.4f)", median, milliseconds[0], milliseconds[19]);
  printf("\n");
  return good ? 0 : 1;
}
