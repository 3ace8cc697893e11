#pragma once
/// Fakes of the CUDA driver and of cuBLAS that run on the host. Device memory is host memory, a kernel is a
/// function, and a CUBIN is any text. The fakes record every call, and a test can make each call fail.

#include "runtime/cuda/driver_functions.h"
#include "runtime/cuda/library.h"

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace nestsmith::test {

struct FakeLaunch {
  std::array<unsigned, 3> grid, block;
  void **arguments;

  template <class T> T scalar(int i) const { return *static_cast<T *>(arguments[i]); }
  template <class T> T *pointer(int i) const { return reinterpret_cast<T *>(scalar<cuda::Address>(i)); }
};

struct FakeCuda {
  int device_count = 1;
  std::map<std::string, std::function<void(const FakeLaunch &)>> kernels;
  std::map<std::string, cuda::Result> fail; ///< the result that each symbol returns instead of success
  std::vector<std::string> missing;         ///< symbols that the libraries lack
  std::vector<float> elapsed_ms;            ///< results for pairs of events, in order; 1 after the last

  std::vector<std::string> calls;              ///< called symbols, in order
  std::map<cuda::Address, std::size_t> memory; ///< allocations and their sizes
  int modules = 0, events = 0, contexts = 0, handles = 0, streams = 0, graphs = 0; ///< existing objects
  /// During a capture, launches and products are counted here instead of being executed.
  bool capturing = false;
  int captured = 0;
  int early = 0; ///< launches of kernels that may start while the one before ends
  int math_mode = -1;
  unsigned allowed_shared = 0; ///< the largest dynamic shared memory that was allowed for a kernel
  std::size_t elapsed_calls = 0;

  int count(const std::string &symbol) const;
};

/// Returns the fake that the resolvers use. `reset` restores its initial state.
FakeCuda &fake_cuda();
void reset_fake_cuda();

cuda::Resolver fake_driver();
cuda::Resolver fake_cublas();
/// Returns the functions of cuBLASLt, which proposes three algorithms. The second one has an error status.
cuda::Resolver fake_cublaslt();
/// Returns the functions of NVML for a GPU at 1980 MHz, which uses 7 joules between two readings of its
/// counter.
cuda::Resolver fake_nvml();

/// For the fakes of libraries: records the call. Returns the result with which the call must fail, or 0.
cuda::Result enter_fake(const char *symbol);
cuda::Resolver fake_resolver(const std::map<std::string, void *> &functions);

} // namespace nestsmith::test
