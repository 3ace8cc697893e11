#pragma once
/// The part of the CUDA driver API that nestsmith uses. It is declared here because cuda.h may be absent.
/// Names, types and values are those of CUDA 12 and 13 ("CUDA Driver API", and cuda.h). In cuda.h, a name such
/// as cuMemAlloc is a macro for the symbol cuMemAlloc_v2; this file uses the symbols.

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace nestsmith::cuda {

using Result = int;                 ///< CUresult; 0 is success
using DeviceNumber = int;           ///< CUdevice
using Address = unsigned long long; ///< CUdeviceptr
using ContextHandle = struct CUctx_st *;
using ModuleHandle = struct CUmod_st *;
using FunctionHandle = struct CUfunc_st *;
using EventHandle = struct CUevent_st *;
using StreamHandle = struct CUstream_st *;
using GraphHandle = struct CUgraph_st *;
using GraphExecHandle = struct CUgraphExec_st *;

/// CUlaunchAttribute. 6 is CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, whose value is an int.
struct LaunchAttribute {
  int id = 0;
  int padding = 0;
  int value[16] = {};
};
inline constexpr int starts_early = 6;

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3], block[3];
  unsigned shared_bytes = 0;
  StreamHandle stream = nullptr;
  LaunchAttribute *attributes = nullptr;
  unsigned count = 0;
};

/// X(member of the table, symbol, signature)
#define NESTSMITH_DRIVER_FUNCTIONS(X)                                                                          \
  X(get_error_name, cuGetErrorName, Result(Result, const char **))                                             \
  X(get_error_string, cuGetErrorString, Result(Result, const char **))                                         \
  X(init, cuInit, Result(unsigned))                                                                            \
  X(driver_get_version, cuDriverGetVersion, Result(int *))                                                     \
  X(device_get_count, cuDeviceGetCount, Result(int *))                                                         \
  X(device_get, cuDeviceGet, Result(DeviceNumber *, int))                                                      \
  X(device_get_name, cuDeviceGetName, Result(char *, int, DeviceNumber))                                       \
  X(device_get_attribute, cuDeviceGetAttribute, Result(int *, int, DeviceNumber))                              \
  X(device_get_pci_bus_id, cuDeviceGetPCIBusId, Result(char *, int, DeviceNumber))                             \
  X(device_total_mem, cuDeviceTotalMem_v2, Result(std::size_t *, DeviceNumber))                                \
  X(primary_ctx_retain, cuDevicePrimaryCtxRetain, Result(ContextHandle *, DeviceNumber))                       \
  X(primary_ctx_release, cuDevicePrimaryCtxRelease_v2, Result(DeviceNumber))                                   \
  X(ctx_set_current, cuCtxSetCurrent, Result(ContextHandle))                                                   \
  X(ctx_synchronize, cuCtxSynchronize, Result())                                                               \
  X(module_load_data, cuModuleLoadData, Result(ModuleHandle *, const void *))                                  \
  X(module_unload, cuModuleUnload, Result(ModuleHandle))                                                       \
  X(module_get_function, cuModuleGetFunction, Result(FunctionHandle *, ModuleHandle, const char *))            \
  X(func_set_attribute, cuFuncSetAttribute, Result(FunctionHandle, int, int))                                  \
  X(mem_get_info, cuMemGetInfo_v2, Result(std::size_t *, std::size_t *))                                       \
  X(mem_alloc, cuMemAlloc_v2, Result(Address *, std::size_t))                                                  \
  X(mem_free, cuMemFree_v2, Result(Address))                                                                   \
  X(memcpy_to_device, cuMemcpyHtoD_v2, Result(Address, const void *, std::size_t))                             \
  X(memcpy_to_host, cuMemcpyDtoH_v2, Result(void *, Address, std::size_t))                                     \
  X(memset_32, cuMemsetD32_v2, Result(Address, unsigned, std::size_t))                                         \
  X(stream_create, cuStreamCreate, Result(StreamHandle *, unsigned))                                           \
  X(stream_destroy, cuStreamDestroy_v2, Result(StreamHandle))                                                  \
  X(stream_begin_capture, cuStreamBeginCapture_v2, Result(StreamHandle, int))                                  \
  X(stream_end_capture, cuStreamEndCapture, Result(StreamHandle, GraphHandle *))                               \
  X(graph_instantiate, cuGraphInstantiateWithFlags,                                                            \
    Result(GraphExecHandle *, GraphHandle, unsigned long long))                                                \
  X(graph_launch, cuGraphLaunch, Result(GraphExecHandle, StreamHandle))                                        \
  X(graph_exec_destroy, cuGraphExecDestroy, Result(GraphExecHandle))                                           \
  X(graph_destroy, cuGraphDestroy, Result(GraphHandle))                                                        \
  X(event_create, cuEventCreate, Result(EventHandle *, unsigned))                                              \
  X(event_record, cuEventRecord, Result(EventHandle, StreamHandle))                                            \
  X(event_synchronize, cuEventSynchronize, Result(EventHandle))                                                \
  X(event_elapsed_time, cuEventElapsedTime, Result(float *, EventHandle, EventHandle))                         \
  X(event_destroy, cuEventDestroy_v2, Result(EventHandle))                                                     \
  X(tensor_map_encode_tiled, cuTensorMapEncodeTiled,                                                           \
    Result(void *, int, unsigned, void *, const std::uint64_t *, const std::uint64_t *, const std::uint32_t *, \
           const std::uint32_t *, int, int, int, int))                                                         \
  X(launch_kernel, cuLaunchKernelEx, Result(const LaunchConfig *, FunctionHandle, void **, void **))

struct DriverFunctions {
#define NESTSMITH_MEMBER(member, symbol, ...) std::add_pointer_t<__VA_ARGS__> member = nullptr;
  NESTSMITH_DRIVER_FUNCTIONS(NESTSMITH_MEMBER)
#undef NESTSMITH_MEMBER
};

/// CUdevice_attribute.
enum class Attribute : int {
  sm_count = 16,
  memory_bus_bits = 37,
  l2_bytes = 38,
  major = 75,
  minor = 76,
};

/// CUfunction_attribute.
enum class FunctionAttribute : int { max_dynamic_shared_bytes = 8 };

/// CUstreamCaptureMode. `relaxed` permits all calls of the driver during a capture.
enum class CaptureMode : int { relaxed = 2 };

/// CUtensorMapDataType, by the bytes of an element: bulk copies do not interpret the elements.
enum class MapElement : int { u8 = 0, u16 = 1, u32 = 2, u64 = 4 };
/// CUtensorMapSwizzle, by the bytes of a row.
enum class MapSwizzle : int { none = 0, bytes_32 = 1, bytes_64 = 2, bytes_128 = 3 };
/// CUtensorMapL2promotion.
enum class MapPromotion : int { bytes_128 = 2 };

/// CUresult: the error codes for errors that the code of a kernel causes.
enum class KernelFault : int {
  illegal_address = 700,
  launch_timeout = 702,
  hardware_stack_error = 714,
  illegal_instruction = 715,
  misaligned_address = 716,
  invalid_address_space = 717,
  invalid_pc = 718,
  launch_failed = 719,
};

} // namespace nestsmith::cuda
