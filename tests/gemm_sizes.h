#pragma once
/// The sizes that a launcher of a product takes.

#include "codegen/emit.h"

namespace nestsmith {

/// Returns the sizes of C = A*B with C: M x N and without gaps between rows.
inline std::vector<NamedExtent> gemm_sizes(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {{"M", m}, {"N", n}, {"K", k}, {"lda", k}, {"ldb", n}, {"ldc", n}};
}

} // namespace nestsmith
