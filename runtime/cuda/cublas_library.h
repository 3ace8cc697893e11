#pragma once
/// The facts that cuBLAS and cuBLASLt share. Included by their .cpp files.

#include "dsl/expr/dtype.h"
#include "dsl/expr/error.h"
#include "runtime/cuda/library.h"

#include <array>
#include <cstddef>
#include <string>

#include <fmt/format.h>

namespace nestsmith::cuda {

// From cublas_api.h and library_types.h of CUDA 12 and 13.
inline constexpr int op_n = 0, op_t = 1; // CUBLAS_OP_N, CUBLAS_OP_T
inline constexpr int real_32f = 0;       // CUDA_R_32F

/// The workspace that a product may use. It is the default of cuBLAS on Hopper.
inline constexpr std::size_t cublas_workspace_bytes = std::size_t{32} << 20;

/// The cudaDataType of the operands, and the cublasComputeType_t that sums their products in fp32.
struct BlasType {
  int data, compute;
};
BlasType blas_type(DType operands);

using BlasVersion = std::array<int, 3>; ///< major, minor, patch

/// {0, 0, 0} if the library does not report its version. `get_property` is cublasGetProperty or
/// cublasLtGetProperty.
BlasVersion blas_version(int (*get_property)(int, int *));
/// "13.0.2"
std::string to_string(const BlasVersion &version);

/// Searches a library of version 12 or newer that the driver supports. `get_property` is the name of its
/// function. Disables the environment variables that change the precision of a product, which the libraries
/// read when they start.
Search search_blas(LibraryKind kind, const char *get_property);

template <class F>
void resolve_blas(F *&function, const Resolver &resolver, const char *library, const char *name) {
  function = reinterpret_cast<F *>(resolver(name));
  if (!function)
    throw UserError(ExitCode::no_device,
                    fmt::format("{0} has no {1}; {0} 12 or newer is needed", library, name));
}

} // namespace nestsmith::cuda
