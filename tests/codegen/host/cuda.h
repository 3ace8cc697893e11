#pragma once
/// Replaces the header of the driver API on the host: what launchers with tensor maps use.

#include "cuda_runtime.h"

typedef uint64_t cuuint64_t;
typedef uint32_t cuuint32_t;
enum CUresult { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1 };
enum CUtensorMapDataType {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1,
  CU_TENSOR_MAP_DATA_TYPE_UINT32 = 2,
  CU_TENSOR_MAP_DATA_TYPE_UINT64 = 4
};
enum CUtensorMapInterleave { CU_TENSOR_MAP_INTERLEAVE_NONE = 0 };
enum CUtensorMapSwizzle {
  CU_TENSOR_MAP_SWIZZLE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_32B = 1,
  CU_TENSOR_MAP_SWIZZLE_64B = 2,
  CU_TENSOR_MAP_SWIZZLE_128B = 3
};
enum CUtensorMapL2promotion { CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2 };
enum CUtensorMapFloatOOBfill { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0 };
struct alignas(64) CUtensorMap {
  cuuint64_t opaque[16];
};

inline CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *array,
                                       const cuuint64_t *extents, const cuuint64_t *strides,
                                       const cuuint32_t *box, const cuuint32_t *, CUtensorMapInterleave,
                                       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                       CUtensorMapFloatOOBfill) {
  const bool taken = ::host::encode_map(map->opaque, type == 4 ? 8 : 1 << type, rank, array, extents, strides,
                                        box, swizzle == 0 ? 0 : 16 << swizzle);
  return taken ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess = 0,
  cudaDriverEntryPointSymbolNotFound = 1
};
enum { cudaEnableDefault = 0 };
#define CUDART_VERSION 13000
inline cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned,
                                                    unsigned long long,
                                                    cudaDriverEntryPointQueryResult *found) {
  const bool known = strcmp(name, "cuTensorMapEncodeTiled") == 0;
  *function = known ? (void *)&cuTensorMapEncodeTiled : nullptr;
  *found = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
