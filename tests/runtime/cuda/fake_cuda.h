#pragma once
/// A CUDA driver and a cuBLAS that run on the host, for tests: device memory is host memory, a kernel is a
/// function, and a CUBIN is any text. Every call is remembered, and any call can be made to fail.

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
  std::map<std::string, cuda::Result> fail; ///< symbol: what it returns
  std::vector<std::string> missing;         ///< symbols that the libraries do not have
  std::vector<float> elapsed_ms;            ///< what pairs of events give, in turn; 1 after the last

  std::vector<std::string> calls;              ///< symbols, in order
  std::map<cuda::Address, std::size_t> memory; ///< what is allocated, and its size
  int modules = 0, events = 0, contexts = 0, handles = 0, streams = 0, graphs = 0; ///< alive
  /// During a capture, a launch and a product of a library are counted here and not executed.
  bool capturing = false;
  int captured = 0;
  int math_mode = -1;
  unsigned allowed_shared = 0; ///< dynamic shared memory that a kernel was allowed to have
  std::size_t elapsed_calls = 0;

  int count(const std::string &symbol) const;
};

/// The one that the resolvers answer for; `reset` starts anew.
FakeCuda &fake_cuda();
void reset_fake_cuda();

cuda::Resolver fake_driver();
cuda::Resolver fake_cublas();
/// cuBLASLt, which proposes three algorithms, of which the second has the status of an error.
cuda::Resolver fake_cublaslt();
/// NVML of a GPU at 1980 MHz, which uses 7 joules between two readings of its counter.
cuda::Resolver fake_nvml();

/// For the fakes of libraries: remembers the call. What it is to return if it is to fail, else 0.
cuda::Result enter_fake(const char *symbol);
cuda::Resolver fake_resolver(const std::map<std::string, void *> &functions);

} // namespace nestsmith::test
