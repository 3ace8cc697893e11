#include "codegen/tensor_maps.h"

#include "codegen/cuda.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

const std::string_view tensor_map_include = "#include <cuda.h>\n";

const std::string_view tensor_map_function =
    R"(/// Describes an array of elements of `bytes` bytes for bulk copies. The extents are those of the array, from the
/// last dimension to the first, and the strides are in bytes, without that of the last dimension. Rows of a box have
/// a swizzle of this number of bytes; 0: none.
static cudaError_t encode_map(TensorMap *map, const void *array, int bytes, unsigned int rank,
                              const cuuint64_t *extents, const cuuint64_t *strides, const cuuint32_t *box,
                              int swizzle) {
  void *encode = nullptr;
  cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t error = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &encode, cudaEnableDefault, &found);
#endif
  if (error != cudaSuccess)
    return error;
  if (encode == nullptr || found != cudaDriverEntryPointSuccess)
    return cudaErrorNotSupported;
  const CUtensorMapDataType type = bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                   : bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                   : bytes == 4 ? CU_TENSOR_MAP_DATA_TYPE_UINT32
                                                : CU_TENSOR_MAP_DATA_TYPE_UINT64;
  const CUtensorMapSwizzle exchanged = swizzle == 0    ? CU_TENSOR_MAP_SWIZZLE_NONE
                                       : swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                       : swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                       : CU_TENSOR_MAP_SWIZZLE_128B;
  const cuuint32_t steps[] = {1, 1, 1, 1, 1};
  const CUresult result = ((decltype(&cuTensorMapEncodeTiled))encode)(
      (CUtensorMap *)map, type, rank, (void *)array, extents, strides, box, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, exchanged, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

)";

bool has_tensor_maps(const kernel::Plan &plan) {
  return std::ranges::any_of(plan.kernels, [](const kernel::Kernel &kernel) { return !kernel.maps.empty(); });
}

std::vector<std::string> tensor_map_names(const kernel::Kernel &kernel) {
  std::vector<std::string> names;
  for (const kernel::TensorMap &map : kernel.maps) {
    std::string name = fmt::format("{}_{}_map", entry_name(kernel), map.source->name);
    while (std::ranges::find(names, name) != names.end())
      name += "_";
    names.push_back(std::move(name));
  }
  return names;
}

void make_tensor_maps(TextWriter &out, const Launcher &launcher, const kernel::Kernel &kernel) {
  const std::vector<std::string> names = tensor_map_names(kernel);
  for (std::size_t n = 0; n < names.size(); ++n) {
    const kernel::TensorMap &map = kernel.maps[n];
    const kernel::TensorMap::Operands operands = map.operands();
    auto spelled = [&](const std::vector<Expr> &list) {
      std::vector<std::string> texts;
      for (const Expr &e : list)
        texts.push_back(as_int(e) ? std::to_string(*as_int(e))
                                  : fmt::format("(cuuint64_t)({})", launcher.spell(e)));
      return fmt::format("{}", fmt::join(texts, ", "));
    };
    out.line(fmt::format("TensorMap {};", names[n]));
    out.line(fmt::format("const cuuint64_t {}_extents[] = {{{}}};", names[n], spelled(operands.extents)));
    out.line(fmt::format("const cuuint64_t {}_strides[] = {{{}}};", names[n], spelled(operands.strides)));
    out.line(fmt::format("const cuuint32_t {}_box[] = {{{}}};", names[n], fmt::join(operands.box, ", ")));
    out.call(fmt::format("const cudaError_t {}_error = encode_map", names[n]),
             {"&" + names[n], launcher.array(kernel, map.source), std::to_string(byte_size(map.source->dtype)),
              std::to_string(map.box.size()), names[n] + "_extents", names[n] + "_strides", names[n] + "_box",
              std::to_string(map.swizzle)},
             ";");
    out.open(fmt::format("if ({}_error != cudaSuccess)", names[n]));
    out.line(fmt::format("return {}_error;", names[n]));
    out.close();
  }
}

} // namespace nestsmith
