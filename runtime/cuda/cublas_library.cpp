#include "runtime/cuda/cublas_library.h"

#include "runtime/cuda/driver.h"

#include <climits>
#include <cstdlib>
#include <optional>

namespace nestsmith::cuda {

namespace {

/// These environment variables let cuBLAS compute an fp32 product with less precision, or a tf32 product with
/// more.
void forbid_other_precision() {
  unsetenv("NVIDIA_TF32_OVERRIDE");
  setenv("CUBLAS_EMULATE_SINGLE_PRECISION", "0", 1);
}

} // namespace

BlasType blas_type(DType operands) {
  switch (operands) {
  case DType::f32:
    return {real_32f, 68}; // CUBLAS_COMPUTE_32F
  case DType::f16:
    return {2, 68}; // CUDA_R_16F, CUBLAS_COMPUTE_32F
  case DType::bf16:
    return {14, 68}; // CUDA_R_16BF, CUBLAS_COMPUTE_32F
  case DType::tf32:
    return {real_32f, 77}; // CUBLAS_COMPUTE_32F_FAST_TF32
  default:
    internal_error("cuBLAS has no product of these operands here");
  }
}

BlasVersion blas_version(int (*get_property)(int, int *)) {
  BlasVersion version{}; // the property types are numbered in this order
  for (int i = 0; i < 3; ++i)
    if (!get_property || get_property(i, &version[static_cast<std::size_t>(i)]) != 0)
      return {};
  return version;
}

std::string to_string(const BlasVersion &version) {
  return fmt::format("{}.{}.{}", version[0], version[1], version[2]);
}

Search search_blas(LibraryKind kind, const char *get_property) {
  std::optional<int> driver = driver_version();
  int largest_major = driver ? *driver / 1000 : INT_MAX;
  forbid_other_precision();
  const char *name = kind == LibraryKind::cublas ? "cuBLAS" : "cuBLASLt";
  return find_library(kind, [&](const Library &library) -> std::string {
    BlasVersion version = blas_version(reinterpret_cast<int (*)(int, int *)>(library.symbol(get_property)));
    if (version[0] < 12)
      return fmt::format("is {} {} (older than 12)", name, to_string(version));
    if (version[0] > largest_major)
      return fmt::format("is {} {} (the driver supports at most CUDA {})", name, to_string(version),
                         largest_major);
    return "";
  });
}

} // namespace nestsmith::cuda
