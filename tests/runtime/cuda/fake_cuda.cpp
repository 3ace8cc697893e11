/// The functions of the fake driver and of the fake cuBLAS.

#include "tests/runtime/cuda/fake_cuda.h"

#include "dsl/expr/numbers.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace nestsmith::test {
namespace {

using namespace nestsmith::cuda;

FakeCuda fake;

#define ENTER(symbol)                                                                                          \
  if (Result failed = enter_fake(#symbol))                                                                     \
  return failed
/// Ends a call that a capture counts instead of executing it.
#define CAPTURED()                                                                                             \
  if (fake.capturing && ++fake.captured)                                                                       \
  return 0

template <class Handle> Handle handle(std::uintptr_t value) { return reinterpret_cast<Handle>(value); }

/// Whether the bytes lie in one allocation, as a copy or a fill requires.
bool allocated(Address address, std::size_t bytes) {
  auto after = fake.memory.upper_bound(address);
  if (after == fake.memory.begin())
    return false;
  auto [start, size] = *std::prev(after);
  return address + bytes <= start + size;
}

constexpr Result invalid_value = 1, not_found = 500;
const StreamHandle the_stream = handle<StreamHandle>(0x4000);

Result cuGetErrorName(Result error, const char **name) {
  *name = error == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                         : "CUDA_ERROR_OTHER";
  return 0;
}
Result cuGetErrorString(Result error, const char **text) {
  *text = error == 2 ? "out of memory" : error == 700 ? "an illegal memory access was encountered" : "other";
  return 0;
}
Result cuInit(unsigned) {
  ENTER(cuInit);
  return 0;
}
Result cuDriverGetVersion(int *version) {
  ENTER(cuDriverGetVersion);
  *version = 12040;
  return 0;
}
Result cuDeviceGetCount(int *count) {
  ENTER(cuDeviceGetCount);
  *count = fake.device_count;
  return 0;
}
Result cuDeviceGet(DeviceNumber *device, int ordinal) {
  ENTER(cuDeviceGet);
  *device = ordinal;
  return ordinal < fake.device_count ? 0 : invalid_value;
}
Result cuDeviceGetName(char *name, int length, DeviceNumber) {
  ENTER(cuDeviceGetName);
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(length));
  return 0;
}
Result cuDeviceGetAttribute(int *value, int attribute, DeviceNumber) {
  ENTER(cuDeviceGetAttribute);
  static const std::map<int, int> values = {{75, 9}, {76, 0}, {16, 132}, {38, 65536}};
  auto found = values.find(attribute);
  if (found == values.end())
    return invalid_value;
  *value = found->second;
  return 0;
}
Result cuDeviceGetPCIBusId(char *id, int length, DeviceNumber) {
  ENTER(cuDeviceGetPCIBusId);
  std::strncpy(id, "0000:3b:00.0", static_cast<std::size_t>(length));
  return 0;
}
Result cuDeviceTotalMem_v2(std::size_t *bytes, DeviceNumber) {
  ENTER(cuDeviceTotalMem_v2);
  *bytes = std::size_t(80) << 30;
  return 0;
}
Result cuDevicePrimaryCtxRetain(ContextHandle *context, DeviceNumber) {
  ENTER(cuDevicePrimaryCtxRetain);
  *context = handle<ContextHandle>(0x1000);
  ++fake.contexts;
  return 0;
}
Result cuDevicePrimaryCtxRelease_v2(DeviceNumber) {
  ENTER(cuDevicePrimaryCtxRelease_v2);
  --fake.contexts;
  return 0;
}
Result cuCtxSetCurrent(ContextHandle) {
  ENTER(cuCtxSetCurrent);
  return 0;
}
Result cuCtxSynchronize() {
  ENTER(cuCtxSynchronize);
  return 0;
}
Result cuModuleLoadData(ModuleHandle *module, const void *) {
  ENTER(cuModuleLoadData);
  *module = handle<ModuleHandle>(0x2000);
  ++fake.modules;
  return 0;
}
Result cuModuleUnload(ModuleHandle) {
  ENTER(cuModuleUnload);
  --fake.modules;
  return 0;
}
Result cuModuleGetFunction(FunctionHandle *function, ModuleHandle, const char *name) {
  ENTER(cuModuleGetFunction);
  auto found = fake.kernels.find(name);
  if (found == fake.kernels.end())
    return not_found;
  *function = reinterpret_cast<FunctionHandle>(&*found);
  return 0;
}
Result cuMemGetInfo_v2(std::size_t *free, std::size_t *total) {
  ENTER(cuMemGetInfo_v2);
  *free = std::size_t(5) << 20;
  *total = std::size_t(80) << 30;
  return 0;
}
Result cuMemAlloc_v2(Address *address, std::size_t bytes) {
  ENTER(cuMemAlloc_v2);
  if (bytes == 0)
    return invalid_value;
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(memory, 0, bytes);
  *address = reinterpret_cast<Address>(memory);
  fake.memory[*address] = bytes;
  return 0;
}
Result cuMemFree_v2(Address address) {
  ENTER(cuMemFree_v2);
  if (fake.memory.erase(address) == 0)
    return invalid_value;
  std::free(reinterpret_cast<void *>(address));
  return 0;
}
Result cuMemcpyHtoD_v2(Address target, const void *source, std::size_t bytes) {
  ENTER(cuMemcpyHtoD_v2);
  if (!allocated(target, bytes))
    return invalid_value;
  std::memcpy(reinterpret_cast<void *>(target), source, bytes);
  return 0;
}
Result cuMemcpyDtoH_v2(void *target, Address source, std::size_t bytes) {
  ENTER(cuMemcpyDtoH_v2);
  if (!allocated(source, bytes))
    return invalid_value;
  std::memcpy(target, reinterpret_cast<void *>(source), bytes);
  return 0;
}
Result cuMemsetD32_v2(Address target, unsigned word, std::size_t count) {
  ENTER(cuMemsetD32_v2);
  if (!allocated(target, 4 * count))
    return invalid_value;
  std::fill_n(reinterpret_cast<unsigned *>(target), count, word);
  return 0;
}
Result cuEventCreate(EventHandle *event, unsigned) {
  ENTER(cuEventCreate);
  *event = handle<EventHandle>(0x3000);
  ++fake.events;
  return 0;
}
Result cuEventRecord(EventHandle, StreamHandle stream) {
  ENTER(cuEventRecord);
  return stream == the_stream ? 0 : invalid_value;
}
Result cuEventSynchronize(EventHandle) {
  ENTER(cuEventSynchronize);
  return 0;
}
Result cuEventElapsedTime(float *ms, EventHandle, EventHandle) {
  ENTER(cuEventElapsedTime);
  *ms = fake.elapsed_calls < fake.elapsed_ms.size() ? fake.elapsed_ms[fake.elapsed_calls] : 1;
  ++fake.elapsed_calls;
  return 0;
}
Result cuEventDestroy_v2(EventHandle) {
  ENTER(cuEventDestroy_v2);
  --fake.events;
  return 0;
}
Result cuStreamCreate(StreamHandle *stream, unsigned) {
  ENTER(cuStreamCreate);
  *stream = the_stream;
  ++fake.streams;
  return 0;
}
Result cuStreamDestroy_v2(StreamHandle stream) {
  ENTER(cuStreamDestroy_v2);
  --fake.streams;
  return stream == the_stream ? 0 : invalid_value;
}
Result cuStreamBeginCapture_v2(StreamHandle stream, int) {
  ENTER(cuStreamBeginCapture_v2);
  if (stream != the_stream || fake.capturing) // the default stream cannot be captured
    return invalid_value;
  fake.capturing = true;
  return 0;
}
Result cuStreamEndCapture(StreamHandle, GraphHandle *graph) {
  ENTER(cuStreamEndCapture);
  if (!fake.capturing)
    return invalid_value;
  fake.capturing = false;
  *graph = handle<GraphHandle>(0x5000);
  ++fake.graphs;
  return 0;
}
Result cuGraphInstantiateWithFlags(GraphExecHandle *graph, GraphHandle, unsigned long long) {
  ENTER(cuGraphInstantiateWithFlags);
  *graph = handle<GraphExecHandle>(0x6000);
  ++fake.graphs;
  return 0;
}
Result cuGraphLaunch(GraphExecHandle, StreamHandle) {
  ENTER(cuGraphLaunch);
  return 0;
}
Result cuGraphExecDestroy(GraphExecHandle) {
  ENTER(cuGraphExecDestroy);
  --fake.graphs;
  return 0;
}
Result cuGraphDestroy(GraphHandle) {
  ENTER(cuGraphDestroy);
  --fake.graphs;
  return 0;
}
Result cuFuncSetAttribute(FunctionHandle, int attribute, int value) {
  ENTER(cuFuncSetAttribute);
  if (attribute != 8 || value > 101376)
    return invalid_value;
  fake.allowed_shared = static_cast<unsigned>(value);
  return 0;
}
/// The map begins with the address.
Result cuTensorMapEncodeTiled(void *map, int, unsigned rank, void *address, const std::uint64_t *,
                              const std::uint64_t *strides, const std::uint32_t *box, const std::uint32_t *,
                              int, int, int, int) {
  ENTER(cuTensorMapEncodeTiled);
  bool right = rank >= 1 && rank <= 5 && reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
  for (unsigned d = 0; right && d < rank; ++d)
    right = box[d] >= 1 && box[d] <= 256 && (d + 1 == rank || strides[d] % 16 == 0);
  if (!right)
    return invalid_value;
  std::memcpy(map, &address, sizeof(address));
  return 0;
}
Result cuLaunchKernelEx(const LaunchConfig *config, FunctionHandle function, void **arguments, void **) {
  ENTER(cuLaunchKernelEx);
  CAPTURED();
  const unsigned shared = config->shared_bytes;
  if (config->stream != the_stream || (shared != 0 && shared > fake.allowed_shared))
    return invalid_value;
  for (unsigned n = 0; n < config->count; ++n)
    fake.early += config->attributes[n].id == starts_early && config->attributes[n].value[0] == 1;
  const auto &[grid, block] = std::tie(config->grid, config->block);
  reinterpret_cast<decltype(fake.kernels)::value_type *>(function)->second(
      {{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, arguments});
  return 0;
}

const char *cublasGetStatusName(int status) {
  return status == 3 ? "CUBLAS_STATUS_ALLOC_FAILED" : "CUBLAS_STATUS";
}
int cublasGetProperty(int which, int *value) {
  *value = which == 0 ? 12 : 4 + which;
  return 0;
}
int cublasCreate_v2(void **cublas) {
  ENTER(cublasCreate_v2);
  *cublas = &fake;
  ++fake.handles;
  return 0;
}
int cublasDestroy_v2(void *) {
  ENTER(cublasDestroy_v2);
  --fake.handles;
  return 0;
}
int cublasSetStream_v2(void *, StreamHandle stream) {
  ENTER(cublasSetStream_v2);
  return stream == the_stream ? 0 : 7;
}
int cublasSetWorkspace_v2(void *, void *workspace, std::size_t bytes) {
  ENTER(cublasSetWorkspace_v2);
  return allocated(reinterpret_cast<Address>(workspace), bytes) ? 0 : 7;
}
int cublasSetMathMode(void *, int mode) {
  ENTER(cublasSetMathMode);
  fake.math_mode = mode;
  return 0;
}
/// C = alpha * A * B + beta * C in column-major order, as in the BLAS. If beta is 0, C is not read.
int cublasSgemm_v2_64(void *, int transpose_a, int transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                      const float *alpha, const float *a, std::int64_t lda, const float *b, std::int64_t ldb,
                      const float *beta, float *c, std::int64_t ldc) {
  ENTER(cublasSgemm_v2_64);
  CAPTURED();
  if (lda < std::max<std::int64_t>(1, transpose_a ? k : m) ||
      ldb < std::max<std::int64_t>(1, transpose_b ? n : k) || ldc < std::max<std::int64_t>(1, m))
    return 7;
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) {
      float sum = 0;
      for (std::int64_t p = 0; p < k; ++p)
        sum += a[transpose_a ? p + i * lda : i + p * lda] * b[transpose_b ? j + p * ldb : p + j * ldb];
      float &out = c[i + j * ldc];
      out = *alpha * sum + (*beta == 0 ? 0 : *beta * out);
    }
  return 0;
}

/// Converts `elements` elements of a matrix to f32. Type 2 is CUDA_R_16F, and 14 is CUDA_R_16BF.
std::vector<float> widened(const void *matrix, int type, std::int64_t elements) {
  std::vector<float> result(static_cast<std::size_t>(elements));
  for (std::size_t n = 0; n < result.size(); ++n)
    result[n] = type == 2    ? to_float(static_cast<const F16 *>(matrix)[n])
                : type == 14 ? to_float(static_cast<const BF16 *>(matrix)[n])
                             : to_float(round_to<TF32>(static_cast<const float *>(matrix)[n]));
  return result;
}

/// The operands are f16 or bf16 with CUBLAS_COMPUTE_32F, or f32 with CUBLAS_COMPUTE_32F_FAST_TF32.
int cublasGemmEx_64(void *handle, int transpose_a, int transpose_b, std::int64_t m, std::int64_t n,
                    std::int64_t k, const void *alpha, const void *a, int a_type, std::int64_t lda,
                    const void *b, int b_type, std::int64_t ldb, const void *beta, void *c, int c_type,
                    std::int64_t ldc, int compute, int algorithm) {
  ENTER(cublasGemmEx_64);
  CAPTURED();
  bool narrow = (a_type == 2 || a_type == 14) && compute == 68, tf32 = a_type == 0 && compute == 77;
  if (a_type != b_type || c_type != 0 || algorithm != -1 || !(narrow || tf32))
    return 7;
  std::vector<float> left = widened(a, a_type, lda * (transpose_a ? m : k));
  std::vector<float> right = widened(b, b_type, ldb * (transpose_b ? k : n));
  return cublasSgemm_v2_64(handle, transpose_a, transpose_b, m, n, k, static_cast<const float *>(alpha),
                           left.data(), lda, right.data(), ldb, static_cast<const float *>(beta),
                           static_cast<float *>(c), ldc);
}

#undef ENTER
#undef CAPTURED

template <class F> void *address(F *function) { return reinterpret_cast<void *>(function); }

} // namespace

int FakeCuda::count(const std::string &symbol) const {
  return static_cast<int>(std::count(calls.begin(), calls.end(), symbol));
}

Result enter_fake(const char *symbol) {
  fake.calls.emplace_back(symbol);
  auto found = fake.fail.find(symbol);
  return found == fake.fail.end() ? 0 : found->second;
}

Resolver fake_resolver(const std::map<std::string, void *> &functions) {
  return [functions](const char *name) -> void * {
    auto found = functions.find(name);
    bool missing = std::find(fake.missing.begin(), fake.missing.end(), name) != fake.missing.end();
    return found == functions.end() || missing ? nullptr : found->second;
  };
}

FakeCuda &fake_cuda() { return fake; }
void reset_fake_cuda() { fake = FakeCuda(); }

Resolver fake_driver() {
#define NESTSMITH_ENTRY(member, symbol, ...) {#symbol, address<__VA_ARGS__>(symbol)},
  return fake_resolver({NESTSMITH_DRIVER_FUNCTIONS(NESTSMITH_ENTRY)});
#undef NESTSMITH_ENTRY
}

Resolver fake_cublas() {
  return fake_resolver({{"cublasGetStatusName", address(cublasGetStatusName)},
                        {"cublasGetProperty", address(cublasGetProperty)},
                        {"cublasCreate_v2", address(cublasCreate_v2)},
                        {"cublasDestroy_v2", address(cublasDestroy_v2)},
                        {"cublasSetStream_v2", address(cublasSetStream_v2)},
                        {"cublasSetWorkspace_v2", address(cublasSetWorkspace_v2)},
                        {"cublasSetMathMode", address(cublasSetMathMode)},
                        {"cublasSgemm_v2_64", address(cublasSgemm_v2_64)},
                        {"cublasGemmEx_64", address(cublasGemmEx_64)}});
}

} // namespace nestsmith::test
