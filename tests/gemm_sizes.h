#pragma once
/// What a launcher of a product takes for sizes.

#include "codegen/emit.h"

namespace nestsmith {

/// Of C = A*B with C: M x N, in rows without gaps.
inline std::vector<NamedExtent> gemm_sizes(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {{"M", m}, {"N", n}, {"K", k}, {"lda", k}, {"ldb", n}, {"ldc", n}};
}

} // namespace nestsmith
