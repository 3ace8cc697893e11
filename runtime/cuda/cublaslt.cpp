#include "runtime/cuda/cublaslt.h"

#include "dsl/expr/error.h"
#include "runtime/cuda/cublas_library.h"

#include <array>
#include <cstdint>

#include <fmt/format.h>

namespace nestsmith::cuda {

namespace {

// From cublasLt.h of CUDA 12 and 13. cublasLtMatmulDesc_t, cublasLtMatrixLayout_t and
// cublasLtMatmulPreference_t are pointers.
using Handle = void *;

constexpr int desc_transpose_a = 3, desc_transpose_b = 4; // CUBLASLT_MATMUL_DESC_TRANSA, TRANSB
constexpr int desc_epilogue = 7, desc_bias_pointer = 8;   // CUBLASLT_MATMUL_DESC_EPILOGUE, BIAS_POINTER
constexpr int epilogue_relu = 2, epilogue_bias = 4;       // CUBLASLT_EPILOGUE_RELU, BIAS
constexpr int preference_workspace = 1;                   // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES

} // namespace

/// cublasLtMatmulHeuristicResult_t.
struct CublasLt::Heuristic {
  std::array<std::uint64_t, 8> algorithm; // cublasLtMatmulAlgo_t
  std::size_t workspace_bytes;
  int state; // cublasStatus_t
  float waves;
  std::array<int, 4> reserved;
};

struct CublasLt::Functions {
  const char *(*get_status_name)(int) = nullptr;
  int (*get_property)(int, int *) = nullptr;
  int (*create)(Handle *) = nullptr;
  int (*destroy)(Handle) = nullptr;
  int (*desc_create)(Handle *, int, int) = nullptr;
  int (*desc_destroy)(Handle) = nullptr;
  int (*desc_set)(Handle, int, const void *, std::size_t) = nullptr;
  int (*layout_create)(Handle *, int, std::uint64_t, std::uint64_t, std::int64_t) = nullptr;
  int (*layout_destroy)(Handle) = nullptr;
  int (*preference_create)(Handle *) = nullptr;
  int (*preference_destroy)(Handle) = nullptr;
  int (*preference_set)(Handle, int, const void *, std::size_t) = nullptr;
  int (*heuristics)(Handle, Handle, Handle, Handle, Handle, Handle, Handle, int, Heuristic *, int *) = nullptr;
  int (*matmul)(Handle, Handle, const void *, const void *, Handle, const void *, Handle, const void *,
                const void *, Handle, void *, Handle, const void *, void *, std::size_t,
                StreamHandle) = nullptr;
};

struct CublasLt::Product::Handles {
  static_assert(sizeof(Heuristic) == 96);
  explicit Handles(const Functions &functions) : functions(functions) {}
  ~Handles() {
    for (Handle layout : {left, right, result})
      if (layout)
        functions.layout_destroy(layout);
    if (desc)
      functions.desc_destroy(desc);
  }
  Handles(const Handles &) = delete;
  Handles &operator=(const Handles &) = delete;

  const Functions &functions;
  Handle desc = nullptr, left = nullptr, right = nullptr, result = nullptr;
  std::array<Heuristic, most_algorithms> heuristics{};
  std::size_t found = 0;
};

std::unique_ptr<CublasLt> CublasLt::open(const Device &device) {
  Search search = search_blas(LibraryKind::cublaslt, "cublasLtGetProperty");
  if (!search.library)
    throw UserError(ExitCode::no_device, fmt::format("no cuBLASLt found (searched: {}); it is part of cuBLAS, "
                                                     "and `nestsmith doctor` says how to get it",
                                                     joined(search.looked)));
  return open(device, search.library->resolver());
}

std::unique_ptr<CublasLt> CublasLt::open(const Device &device, const Resolver &resolver) {
  std::unique_ptr<CublasLt> library(new CublasLt(device));
  Functions &functions = *library->functions_;
  auto resolve = [&](auto *&function, const char *name) { resolve_blas(function, resolver, "cuBLASLt", name); };
  resolve(functions.get_status_name, "cublasLtGetStatusName");
  resolve(functions.get_property, "cublasLtGetProperty");
  resolve(functions.create, "cublasLtCreate");
  resolve(functions.destroy, "cublasLtDestroy");
  resolve(functions.desc_create, "cublasLtMatmulDescCreate");
  resolve(functions.desc_destroy, "cublasLtMatmulDescDestroy");
  resolve(functions.desc_set, "cublasLtMatmulDescSetAttribute");
  resolve(functions.layout_create, "cublasLtMatrixLayoutCreate");
  resolve(functions.layout_destroy, "cublasLtMatrixLayoutDestroy");
  resolve(functions.preference_create, "cublasLtMatmulPreferenceCreate");
  resolve(functions.preference_destroy, "cublasLtMatmulPreferenceDestroy");
  resolve(functions.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  resolve(functions.heuristics, "cublasLtMatmulAlgoGetHeuristic");
  resolve(functions.matmul, "cublasLtMatmul");
  library->version_ = to_string(blas_version(functions.get_property));
  library->check(functions.create(&library->handle_), "cublasLtCreate");
  return library;
}

CublasLt::CublasLt(const Device &device)
    : device_(device), functions_(std::make_unique<Functions>()), workspace_(device, cublas_workspace_bytes) {}

CublasLt::~CublasLt() {
  if (handle_)
    functions_->destroy(handle_);
}

void CublasLt::check(int status, const char *call) const {
  if (status == 0)
    return;
  const char *status_name = functions_->get_status_name(status);
  throw UserError(ExitCode::no_device, fmt::format("{} of cuBLASLt {} failed: {}", call, version_,
                                                   status_name ? status_name : "unknown status"));
}

CublasLt::Product::Product(const CublasLt &library, GemmShape shape, DType operands,
                           const GemmEpilogue &epilogue)
    : library_(library), handles_(std::make_unique<Handles>(*library.functions_)), has_bias_(epilogue.bias) {
  describe(shape, operands, epilogue);
  propose();
}

CublasLt::Product::~Product() = default;

/// Row-major X is column-major X transposed, so the library computes the column-major B^T * A^T = (A * B)^T, as
/// in `Cublas::gemm`.
void CublasLt::Product::describe(GemmShape shape, DType operands, const GemmEpilogue &epilogue) {
  const Functions &functions = *library_.functions_;
  auto [data, compute] = blas_type(operands);
  library_.check(functions.desc_create(&handles_->desc, compute, real_32f), "cublasLtMatmulDescCreate");
  auto transpose = [&](int which, bool transposed) {
    std::int32_t op = transposed ? op_t : op_n;
    library_.check(functions.desc_set(handles_->desc, which, &op, sizeof op), "cublasLtMatmulDescSetAttribute");
  };
  transpose(desc_transpose_a, shape.b_transposed);
  transpose(desc_transpose_b, shape.a_transposed);
  // The columns of C are the rows of the column-major result, for which the library has a bias.
  const std::int32_t parts = (epilogue.bias ? epilogue_bias : 0) | (epilogue.relu ? epilogue_relu : 0);
  if (parts != 0)
    library_.check(functions.desc_set(handles_->desc, desc_epilogue, &parts, sizeof parts),
                   "cublasLtMatmulDescSetAttribute");
  // Rows and columns as they are stored in column-major order. The rows have no gaps.
  auto layout = [&](Handle &handle, int type, std::int64_t rows, std::int64_t columns, bool transposed) {
    if (transposed)
      std::swap(rows, columns);
    library_.check(functions.layout_create(&handle, type, static_cast<std::uint64_t>(rows),
                                           static_cast<std::uint64_t>(columns), rows),
                   "cublasLtMatrixLayoutCreate");
  };
  layout(handles_->left, data, shape.n, shape.k, shape.b_transposed);
  layout(handles_->right, data, shape.k, shape.m, shape.a_transposed);
  layout(handles_->result, blas_type(epilogue.result).data, shape.n, shape.m, false);
}

void CublasLt::Product::propose() {
  const Functions &functions = *library_.functions_;
  Handle preference = nullptr;
  library_.check(functions.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
  std::size_t bytes = library_.workspace_.bytes();
  int found = 0, status = functions.preference_set(preference, preference_workspace, &bytes, sizeof bytes);
  if (status == 0)
    status = functions.heuristics(library_.handle_, handles_->desc, handles_->left, handles_->right,
                                  handles_->result, handles_->result, preference,
                                  static_cast<int>(most_algorithms), handles_->heuristics.data(), &found);
  functions.preference_destroy(preference);
  library_.check(status, "cublasLtMatmulAlgoGetHeuristic");
  for (int n = 0; n < found; ++n) // a proposal may have a status of its own
    if (const Heuristic &heuristic = handles_->heuristics[static_cast<std::size_t>(n)]; heuristic.state == 0)
      handles_->heuristics[handles_->found++] = heuristic;
}

std::size_t CublasLt::Product::algorithms() const { return handles_->found; }

void CublasLt::Product::enqueue(std::size_t algorithm, float alpha, Address a, Address b, float beta, Address c,
                                Address bias) const {
  auto pointer = [](Address address) { return reinterpret_cast<void *>(address); };
  if (has_bias_)
    library_.check(library_.functions_->desc_set(handles_->desc, desc_bias_pointer, &bias, sizeof bias),
                   "cublasLtMatmulDescSetAttribute");
  library_.check(library_.functions_->matmul(
                     library_.handle_, handles_->desc, &alpha, pointer(b), handles_->left, pointer(a),
                     handles_->right, &beta, pointer(c), handles_->result, pointer(c), handles_->result,
                     handles_->heuristics[algorithm].algorithm.data(), pointer(library_.workspace_.address()),
                     library_.workspace_.bytes(), library_.device_.stream()),
                 "cublasLtMatmul");
}

} // namespace nestsmith::cuda
