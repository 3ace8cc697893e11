#pragma once
/// Replaces the CUDA header of the same name on the host, where device.h emulates the GPU. It defines the
/// keywords and types of CUDA C++ and the functions of the runtime that emitted files use.

#include "device.h"
#include "dsl/expr/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define __global__
#define __grid_constant__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#ifndef __shared__
#define __shared__ static
#endif
#define __syncthreads() ::host::wait_for_block(__LINE__)
#define __syncthreads_or(condition) ::host::any_in_block((condition) != 0, __LINE__)
#define __threadfence() ((void)0) // blocks run one after another
#define __syncwarp() ::host::wait_for_warp(__LINE__)
#define __shfl_sync(mask, value, from) ::host::shuffled(mask, value, static_cast<unsigned>(from), __LINE__)
#define __shfl_xor_sync(mask, value, distance)                                                                 \
  ::host::shuffled(mask, value, ::host::lane() ^ static_cast<unsigned>(distance), __LINE__)

// Functions of mathematics in f32, rounded from double as in the simulator. Those in f64 are the host's.
// Macros, because the host has most of these names with other roundings.
inline float host_rounded(double x) { return static_cast<float>(x); }
#define expf(x) ::host_rounded(::exp(static_cast<double>(x)))
#define exp2f(x) ::host_rounded(::exp2(static_cast<double>(x)))
#define logf(x) ::host_rounded(::log(static_cast<double>(x)))
#define log2f(x) ::host_rounded(::log2(static_cast<double>(x)))
#define rsqrtf(x) ::host_rounded(1 / ::sqrt(static_cast<double>(x)))
#define tanhf(x) ::host_rounded(::tanh(static_cast<double>(x)))
#define erff(x) ::host_rounded(::erf(static_cast<double>(x)))
#define sinf(x) ::host_rounded(::sin(static_cast<double>(x)))
#define cosf(x) ::host_rounded(::cos(static_cast<double>(x)))
#define fmaf(x, y, z)                                                                                          \
  ::host_rounded(::fma(static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)))
#define powf(x, y) ::host_rounded(::pow(static_cast<double>(x), static_cast<double>(y)))
#define __expf(x) expf(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanhf(x) tanhf(x)
#define __powf(x, y) powf(x, y)
#define __fdividef(x, y) ::host_rounded(static_cast<double>(x) / static_cast<double>(y))

// Vector types with the alignment that CUDA gives them.
#define HOST_VECTORS(scalar, name, align4)                                                                     \
  struct alignas(2 * sizeof(scalar)) name##2 {                                                                 \
    scalar x, y;                                                                                               \
  };                                                                                                           \
  struct alignas(align4) name##4 {                                                                             \
    scalar x, y, z, w;                                                                                         \
  };                                                                                                           \
  inline name##2 make_##name##2(scalar x, scalar y) { return {x, y}; }                                         \
  inline name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) { return {x, y, z, w}; }
HOST_VECTORS(float, float, 16)
HOST_VECTORS(double, double, 16)
HOST_VECTORS(int, int, 16)
HOST_VECTORS(unsigned, uint, 16)
HOST_VECTORS(long long, longlong, 16)
HOST_VECTORS(unsigned long long, ulonglong, 16)

// Device functions.
inline unsigned __float_as_uint(float x) {
  unsigned bits;
  memcpy(&bits, &x, 4);
  return bits;
}
inline float __uint_as_float(unsigned bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}
inline float __int_as_float(int bits) { return __uint_as_float(static_cast<unsigned>(bits)); }
[[noreturn]] inline void __trap() {
  fprintf(stderr, "a kernel has executed __trap()\n");
  abort();
}
inline unsigned atomicInc(unsigned *address, unsigned most) {
  unsigned old = *address;
  *address = old >= most ? 0 : old + 1;
  return old;
}
// The host runs one thread at a time.
template <class T> T atomicAdd(T *address, T term) {
  T old = *address;
  if constexpr (std::is_same_v<T, int>)
    *address = static_cast<int>(static_cast<unsigned>(old) + static_cast<unsigned>(term));
  else
    *address = old + term;
  return old;
}
template <class T> T atomicMax(T *address, T term) {
  T old = *address;
  *address = old < term ? term : old;
  return old;
}
template <class T> T atomicMin(T *address, T term) {
  T old = *address;
  *address = term < old ? term : old;
  return old;
}
// The instruction cvt.rzi saturates. NaN gives 0 in 32 bits, and 2^63 in 64 bits.
inline int __float2int_rz(float x) { return nestsmith::convert<int>(x); }
inline unsigned __float2uint_rz(float x) { return nestsmith::convert<unsigned>(x); }
inline long long __float2ll_rz(float x) {
  return x == x ? nestsmith::convert<long long>(x) : std::numeric_limits<long long>::min();
}
inline unsigned long long __float2ull_rz(float x) {
  return x == x ? nestsmith::convert<unsigned long long>(x) : 1ULL << 63;
}
// Of an operand of 64 bits, NaN gives 2^31 or 2^63.
inline int __double2int_rz(double x) {
  return x == x ? nestsmith::convert<int>(x) : std::numeric_limits<int>::min();
}
inline unsigned __double2uint_rz(double x) { return x == x ? nestsmith::convert<unsigned>(x) : 1U << 31; }
inline long long __double2ll_rz(double x) {
  return x == x ? nestsmith::convert<long long>(x) : std::numeric_limits<long long>::min();
}
inline unsigned long long __double2ull_rz(double x) {
  return x == x ? nestsmith::convert<unsigned long long>(x) : 1ULL << 63;
}
inline double __longlong_as_double(long long bits) {
  double x;
  memcpy(&x, &bits, 8);
  return x;
}
inline double rsqrt(double x) { return 1 / ::sqrt(x); }
inline float host_round_tf32(float x) { return nestsmith::to_float(nestsmith::convert<nestsmith::TF32>(x)); }
// Returns `sum` plus the products of four pairs of bytes, modulo 2^32.
template <class Byte, class Word> Word host_dp4a(Word a, Word b, Word sum) {
  unsigned result = static_cast<unsigned>(sum);
  for (int at = 0; at < 32; at += 8)
    result += static_cast<unsigned>(static_cast<Byte>(a >> at) * static_cast<Byte>(b >> at));
  return static_cast<Word>(result);
}
inline int __dp4a(int a, int b, int sum) { return host_dp4a<signed char>(a, b, sum); }
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) { return host_dp4a<unsigned char>(a, b, sum); }
#define HOST_MIN_MAX(type)                                                                                     \
  inline type min(type a, type b) { return a < b ? a : b; }                                                    \
  inline type max(type a, type b) { return a < b ? b : a; }
HOST_MIN_MAX(int)
HOST_MIN_MAX(unsigned)
HOST_MIN_MAX(long long)
HOST_MIN_MAX(unsigned long long)

// Functions of the CUDA runtime.
typedef void *cudaStream_t;
typedef double cudaEvent_t;
enum cudaError_t { cudaSuccess, cudaErrorInvalidValue, cudaErrorInvalidConfiguration, cudaErrorNotSupported };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
struct cudaDeviceProp {
  char name[8];
  int major, minor;
};
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int) {
  *properties = {"host", 0, 0};
  return cudaSuccess;
}
inline const char *cudaGetErrorString(cudaError_t) { return "error"; }
template <class T> cudaError_t cudaMalloc(T **memory, size_t bytes) {
  *memory = static_cast<T *>(aligned_alloc(256, (bytes + 255) / 256 * 256));
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind) {
  memcpy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemset(void *to, int byte, size_t bytes) {
  memset(to, byte, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t) {
  memset(to, byte, bytes);
  return cudaSuccess;
}
template <class Kernel> cudaError_t cudaFuncSetAttribute(Kernel *kernel, cudaFuncAttribute, int bytes) {
  host::allow_shared(reinterpret_cast<const void *>(kernel), static_cast<size_t>(bytes));
  return cudaSuccess;
}
enum cudaLaunchAttributeID { cudaLaunchAttributeProgrammaticStreamSerialization = 6 };
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  struct {
    int programmaticStreamSerializationAllowed;
  } val;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute *attrs;
  unsigned numAttrs;
};
template <class... Parameters>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Parameters...),
                               const Parameters &...arguments) {
  ::host::launch(kernel, config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream,
                 [&] { kernel(arguments...); });
  return cudaSuccess;
}
inline cudaError_t cudaGetLastError() {
  return host::take_refusal() ? cudaErrorInvalidConfiguration : cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
inline cudaError_t cudaEventCreate(cudaEvent_t *) { return cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t &event) {
  event = host::now();
  return cudaSuccess;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
  *ms = static_cast<float>(to - from);
  return cudaSuccess;
}
