/// A fake of cuBLASLt that computes with the fake of cuBLAS.

#include "dsl/expr/numbers.h"
#include "tests/runtime/cuda/fake_cuda.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace nestsmith::test {
namespace {

using cuda::Result, cuda::StreamHandle;

struct Desc {
  int compute, scale;
  std::int32_t transposed[2] = {0, 0};
  std::int32_t epilogue = 1; // CUBLASLT_EPILOGUE_DEFAULT
  const void *bias = nullptr;
};
struct Layout {
  int type;
  std::uint64_t rows, columns;
  std::int64_t leading;
};
/// The layout of cublasLt.h, 96 bytes.
struct Heuristic {
  std::uint64_t algorithm[8];
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

#define ENTER(symbol)                                                                                          \
  if (Result failed = enter_fake(#symbol))                                                                     \
  return failed

const char *cublasLtGetStatusName(int status) {
  return status == 3 ? "CUBLAS_STATUS_ALLOC_FAILED" : "CUBLAS_STATUS";
}
int cublasLtGetProperty(int which, int *value) {
  *value = which == 0 ? 12 : 4 + which;
  return 0;
}
int cublasLtCreate(void **handle) {
  ENTER(cublasLtCreate);
  *handle = &fake_cuda();
  ++fake_cuda().handles;
  return 0;
}
int cublasLtDestroy(void *) {
  ENTER(cublasLtDestroy);
  --fake_cuda().handles;
  return 0;
}
int cublasLtMatmulDescCreate(Desc **desc, int compute, int scale) {
  ENTER(cublasLtMatmulDescCreate);
  *desc = new Desc{compute, scale};
  ++fake_cuda().handles;
  return 0;
}
int cublasLtMatmulDescDestroy(Desc *desc) {
  ENTER(cublasLtMatmulDescDestroy);
  delete desc;
  --fake_cuda().handles;
  return 0;
}
int cublasLtMatmulDescSetAttribute(Desc *desc, int which, const void *value, std::size_t bytes) {
  ENTER(cublasLtMatmulDescSetAttribute);
  if ((which == 3 || which == 4) && bytes == 4)
    std::memcpy(&desc->transposed[which - 3], value, bytes);
  else if (which == 7 && bytes == 4)
    std::memcpy(&desc->epilogue, value, bytes);
  else if (which == 8 && bytes == 8)
    std::memcpy(&desc->bias, value, bytes);
  else
    return 7;
  return 0;
}
int cublasLtMatrixLayoutCreate(Layout **layout, int type, std::uint64_t rows, std::uint64_t columns,
                               std::int64_t leading) {
  ENTER(cublasLtMatrixLayoutCreate);
  *layout = new Layout{type, rows, columns, leading};
  ++fake_cuda().handles;
  return 0;
}
int cublasLtMatrixLayoutDestroy(Layout *layout) {
  ENTER(cublasLtMatrixLayoutDestroy);
  delete layout;
  --fake_cuda().handles;
  return 0;
}
int cublasLtMatmulPreferenceCreate(std::size_t **preference) {
  ENTER(cublasLtMatmulPreferenceCreate);
  *preference = new std::size_t(0);
  ++fake_cuda().handles;
  return 0;
}
int cublasLtMatmulPreferenceDestroy(std::size_t *preference) {
  ENTER(cublasLtMatmulPreferenceDestroy);
  delete preference;
  --fake_cuda().handles;
  return 0;
}
int cublasLtMatmulPreferenceSetAttribute(std::size_t *preference, int which, const std::size_t *value,
                                         std::size_t bytes) {
  ENTER(cublasLtMatmulPreferenceSetAttribute);
  if (which != 1 || bytes != sizeof *value)
    return 7;
  *preference = *value;
  return 0;
}
int cublasLtMatmulAlgoGetHeuristic(void *, Desc *, Layout *, Layout *, Layout *, Layout *,
                                   std::size_t *preference, int most, Heuristic *results, int *found) {
  ENTER(cublasLtMatmulAlgoGetHeuristic);
  if (*preference != std::size_t{32} << 20 || most < 3)
    return 7;
  *found = 3;
  for (int n = 0; n < 3; ++n) {
    results[n].algorithm[0] = static_cast<std::uint64_t>(100 + n);
    results[n].state = n == 1 ? 15 : 0; // CUBLAS_STATUS_NOT_SUPPORTED
  }
  return 0;
}
float widened(const void *from, int type, std::int64_t n) {
  return type == 2    ? to_float(static_cast<const F16 *>(from)[n])
         : type == 14 ? to_float(static_cast<const BF16 *>(from)[n])
                      : static_cast<const float *>(from)[n];
}

/// The sums in f32 by the fake of cuBLAS, then the bias of each row, the ReLU, and the type of the result. C is
/// not read.
int with_epilogue(void *handle, const Desc &desc, const void *alpha, const void *a, const Layout &la,
                  const void *b, const Layout &lb, const void *beta, void *d, const Layout &ld,
                  StreamHandle stream);

int cublasLtMatmul(void *handle, Desc *desc, const void *alpha, const void *a, Layout *la, const void *b,
                   Layout *lb, const void *beta, const void *c, Layout *, void *d, Layout *ld,
                   const std::uint64_t *algorithm, void *, std::size_t, StreamHandle stream) {
  ENTER(cublasLtMatmul);
  if (c != d || stream == nullptr || (*algorithm != 100 && *algorithm != 102))
    return 7;
  auto m = static_cast<std::int64_t>(ld->rows), n = static_cast<std::int64_t>(ld->columns);
  auto k = static_cast<std::int64_t>(desc->transposed[0] ? la->rows : la->columns);
  if (desc->epilogue != 1 || ld->type != 0)
    return with_epilogue(handle, *desc, alpha, a, *la, b, *lb, beta, d, *ld, stream);
  if (la->type == 0 && desc->compute == 68) {
    auto sgemm = reinterpret_cast<int (*)(
        void *, int, int, std::int64_t, std::int64_t, std::int64_t, const void *, const void *, std::int64_t,
        const void *, std::int64_t, const void *, void *, std::int64_t)>(fake_cublas()("cublasSgemm_v2_64"));
    return sgemm(handle, desc->transposed[0], desc->transposed[1], m, n, k, alpha, a, la->leading, b,
                 lb->leading, beta, d, ld->leading);
  }
  auto gemm_ex =
      reinterpret_cast<int (*)(void *, int, int, std::int64_t, std::int64_t, std::int64_t, const void *,
                               const void *, int, std::int64_t, const void *, int, std::int64_t, const void *,
                               void *, int, std::int64_t, int, int)>(fake_cublas()("cublasGemmEx_64"));
  return gemm_ex(handle, desc->transposed[0], desc->transposed[1], m, n, k, alpha, a, la->type, la->leading, b,
                 lb->type, lb->leading, beta, d, ld->type, ld->leading, desc->compute, -1);
}

int with_epilogue(void *handle, const Desc &desc, const void *alpha, const void *a, const Layout &la,
                  const void *b, const Layout &lb, const void *beta, void *d, const Layout &ld,
                  StreamHandle stream) {
  const bool bias = (desc.epilogue & 4) != 0, relu = (desc.epilogue & 2) != 0;
  float zero = 0;
  if (std::memcmp(beta, &zero, sizeof zero) != 0 || (bias && desc.bias == nullptr))
    return 7;
  std::vector<float> sums(ld.rows * ld.columns);
  Desc plain{desc.compute, desc.scale, {desc.transposed[0], desc.transposed[1]}};
  Layout a_layout = la, b_layout = lb, wide{0, ld.rows, ld.columns, static_cast<std::int64_t>(ld.rows)};
  const std::uint64_t algorithm = 100;
  if (int failed = cublasLtMatmul(handle, &plain, alpha, a, &a_layout, b, &b_layout, beta, sums.data(), &wide,
                                  sums.data(), &wide, &algorithm, nullptr, 0, stream))
    return failed;
  for (std::size_t n = 0; n < sums.size(); ++n) {
    float value = sums[n];
    if (bias)
      value += widened(desc.bias, ld.type, static_cast<std::int64_t>(n % ld.rows));
    if (relu)
      value = std::max(value, 0.0F);
    if (ld.type == 2)
      static_cast<F16 *>(d)[n] = round_to<F16>(value);
    else if (ld.type == 14)
      static_cast<BF16 *>(d)[n] = round_to<BF16>(value);
    else
      static_cast<float *>(d)[n] = value;
  }
  return 0;
}

#undef ENTER

template <class F> void *address(F *function) { return reinterpret_cast<void *>(function); }

} // namespace

cuda::Resolver fake_cublaslt() {
#define ENTRY(symbol)                                                                                          \
  { #symbol, address(symbol) }
  return fake_resolver({ENTRY(cublasLtGetStatusName), ENTRY(cublasLtGetProperty), ENTRY(cublasLtCreate),
                        ENTRY(cublasLtDestroy), ENTRY(cublasLtMatmulDescCreate),
                        ENTRY(cublasLtMatmulDescDestroy), ENTRY(cublasLtMatmulDescSetAttribute),
                        ENTRY(cublasLtMatrixLayoutCreate), ENTRY(cublasLtMatrixLayoutDestroy),
                        ENTRY(cublasLtMatmulPreferenceCreate), ENTRY(cublasLtMatmulPreferenceDestroy),
                        ENTRY(cublasLtMatmulPreferenceSetAttribute), ENTRY(cublasLtMatmulAlgoGetHeuristic),
                        ENTRY(cublasLtMatmul)});
#undef ENTRY
}

} // namespace nestsmith::test
