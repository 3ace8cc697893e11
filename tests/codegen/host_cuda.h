#pragma once
/// Runs an emitted .cu on the host, thread after thread: for kernels without barriers.

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <sys/wait.h>
#include <system_error>

namespace nestsmith {

/// What a .cu needs of cuda_runtime.h where host and device are one.
inline constexpr const char *host_cuda_runtime = R"(#pragma once
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(...)
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
inline dim3 blockIdx, threadIdx;
typedef void *cudaStream_t;
typedef std::chrono::steady_clock::time_point cudaEvent_t;
enum cudaError_t { cudaSuccess, cudaErrorInvalidValue };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
struct cudaDeviceProp { char name[8]; int major, minor; };
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int) { *p = {"host", 0, 0}; return cudaSuccess; }
inline const char *cudaGetErrorString(cudaError_t) { return "error"; }
template <class T> cudaError_t cudaMalloc(T **p, size_t size) {
  *p = (T *)aligned_alloc(256, (size + 255) / 256 * 256);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void *to, const void *from, size_t n, cudaMemcpyKind) { memcpy(to, from, n); return cudaSuccess; }
inline cudaError_t cudaMemset(void *to, int byte, size_t n) { memset(to, byte, n); return cudaSuccess; }
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
inline cudaError_t cudaEventCreate(cudaEvent_t *) { return cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t &e) { e = std::chrono::steady_clock::now(); return cudaSuccess; }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
  *ms = std::chrono::duration<float, std::milli>(to - from).count();
  return cudaSuccess;
}
inline unsigned __float_as_uint(float x) { unsigned bits; memcpy(&bits, &x, 4); return bits; }
inline float __uint_as_float(unsigned bits) { float x; memcpy(&x, &bits, 4); return x; }
template <class Kernel> void on_host(dim3 grid, dim3 block, const Kernel &kernel) {
  static int launches = 0; // what is launched for its time alone is not worth waiting for
  if (++launches > 8)
    return;
  for (blockIdx.z = 0; blockIdx.z < grid.z; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < grid.y; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x)
        for (threadIdx.z = 0; threadIdx.z < block.z; ++threadIdx.z)
          for (threadIdx.y = 0; threadIdx.y < block.y; ++threadIdx.y)
            for (threadIdx.x = 0; threadIdx.x < block.x; ++threadIdx.x)
              kernel();
}
)";

/// The exit status of the program, or -1 where it does not compile.
inline int run_on_host(std::string source) {
  static const std::regex launch(
      R"((\w+)<<<(\w+|dim3\([^)]*\)), (\w+|dim3\([^)]*\))(?:, 0, stream)?>>>(\([^;]*\));)");
  source = std::regex_replace(source, launch, "on_host($2, $3, [&] { $1$4; });");
  std::string pattern = (std::filesystem::temp_directory_path() / "nestsmith-XXXXXX").string();
  if (!mkdtemp(pattern.data()))
    throw std::system_error(errno, std::generic_category(), "mkdtemp");
  std::filesystem::path folder = pattern;
  std::ofstream(folder / "cuda_runtime.h") << host_cuda_runtime;
  std::ofstream(folder / "program.cpp") << source;
  std::string compile = "cd '" + pattern + "' && c++ -std=c++17 -O1 -I. program.cpp -o program";
  int status = std::system(compile.c_str()) == 0 ? std::system(("'" + pattern + "/program'").c_str()) : -1;
  std::filesystem::remove_all(folder);
  return status == -1 ? -1 : WEXITSTATUS(status);
}

} // namespace nestsmith
