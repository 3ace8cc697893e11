#include "runtime/cuda/cublas.h"

#include "dsl/expr/error.h"
#include "runtime/cuda/cublas_library.h"

#include <optional>

#include <fmt/format.h>

namespace nestsmith::cuda {

// From cublas_api.h and library_types.h of CUDA 12 and 13. cublasStatus_t, cublasOperation_t, cublasMath_t
// and libraryPropertyType are enums, cublasHandle_t is a pointer.
struct Cublas::Functions {
  const char *(*get_status_name)(int) = nullptr;
  int (*create)(void **) = nullptr;
  int (*destroy)(void *) = nullptr;
  int (*set_stream)(void *, StreamHandle) = nullptr;
  int (*set_workspace)(void *, void *, std::size_t) = nullptr;
  int (*set_math_mode)(void *, int) = nullptr;
  int (*get_property)(int, int *) = nullptr;
  int (*sgemm)(void *, int, int, std::int64_t, std::int64_t, std::int64_t, const float *, const float *,
               std::int64_t, const float *, std::int64_t, const float *, float *, std::int64_t) = nullptr;
  int (*gemm_ex)(void *, int, int, std::int64_t, std::int64_t, std::int64_t, const void *, const void *, int,
                 std::int64_t, const void *, int, std::int64_t, const void *, void *, int, std::int64_t, int,
                 int) = nullptr;
};

namespace {

constexpr int default_math = 0, pedantic_math = 2; // CUBLAS_DEFAULT_MATH, CUBLAS_PEDANTIC_MATH
constexpr int default_algorithm = -1;              // CUBLAS_GEMM_DEFAULT

Search search_cublas() { return search_blas(LibraryKind::cublas, "cublasGetProperty"); }

} // namespace

const char *name(Cublas::Mode mode) { return mode == Cublas::Mode::standard ? "default" : "pedantic"; }

std::optional<CublasFound> find_cublas(std::vector<std::string> &looked) {
  Search search = search_cublas();
  looked = search.looked;
  if (!search.library)
    return std::nullopt;
  auto get_property = reinterpret_cast<int (*)(int, int *)>(search.library->symbol("cublasGetProperty"));
  return CublasFound{search.library->path, to_string(blas_version(get_property)), search.library->place};
}

std::unique_ptr<Cublas> Cublas::open(const Device &device) {
  Search search = search_cublas();
  if (!search.library)
    throw UserError(ExitCode::no_device,
                    fmt::format("no cuBLAS found (searched: {}); `nestsmith doctor` says how to "
                                "get it",
                                joined(search.looked)));
  return open(device, search.library->resolver());
}

std::unique_ptr<Cublas> Cublas::open(const Device &device, const Resolver &resolver) {
  std::unique_ptr<Cublas> cublas(new Cublas(device));
  Functions &functions = *cublas->functions_;
  auto resolve = [&](auto *&function, const char *name) { resolve_blas(function, resolver, "cuBLAS", name); };
  resolve(functions.get_status_name, "cublasGetStatusName");
  resolve(functions.create, "cublasCreate_v2");
  resolve(functions.destroy, "cublasDestroy_v2");
  resolve(functions.set_stream, "cublasSetStream_v2");
  resolve(functions.set_workspace, "cublasSetWorkspace_v2");
  resolve(functions.set_math_mode, "cublasSetMathMode");
  resolve(functions.get_property, "cublasGetProperty");
  resolve(functions.sgemm, "cublasSgemm_v2_64");
  resolve(functions.gemm_ex, "cublasGemmEx_64");
  cublas->version_ = to_string(blas_version(functions.get_property));
  cublas->check(functions.create(&cublas->handle_), "cublasCreate");
  // cuBLAS would allocate its own workspace in the first product, and in each capture of a CUDA graph.
  cublas->check(functions.set_stream(cublas->handle_, device.stream()), "cublasSetStream");
  cublas->check(functions.set_workspace(cublas->handle_, reinterpret_cast<void *>(cublas->workspace_.address()),
                                        cublas->workspace_.bytes()),
                "cublasSetWorkspace");
  return cublas;
}

Cublas::Cublas(const Device &device)
    : device_(device), functions_(std::make_unique<Functions>()), workspace_(device, cublas_workspace_bytes) {}

Cublas::~Cublas() {
  if (handle_)
    functions_->destroy(handle_);
}

void Cublas::check(int status, const char *call) const {
  if (status == 0)
    return;
  const char *status_name = functions_->get_status_name(status);
  throw UserError(ExitCode::no_device, fmt::format("{} of cuBLAS {} failed: {}", call, version_,
                                                   status_name ? status_name : "unknown status"));
}

void Cublas::gemm(Mode mode, GemmShape shape, DType operands, float alpha, Address a, Address b, float beta,
                  Address c) const {
  check(functions_->set_math_mode(handle_, mode == Mode::standard ? default_math : pedantic_math),
        "cublasSetMathMode");
  // Row-major X is column-major X transposed. So cuBLAS computes the column-major B^T * A^T = (A * B)^T:
  // the operands change places, and so do m and n. A leading dimension is the length of a row.
  auto pointer = [](Address address) { return reinterpret_cast<float *>(address); };
  int op_a = shape.a_transposed ? op_t : op_n, op_b = shape.b_transposed ? op_t : op_n;
  std::int64_t row_a = shape.a_transposed ? shape.m : shape.k, row_b = shape.b_transposed ? shape.k : shape.n;
  if (operands == DType::f32) {
    check(functions_->sgemm(handle_, op_b, op_a, shape.n, shape.m, shape.k, &alpha, pointer(b), row_b,
                            pointer(a), row_a, &beta, pointer(c), shape.n),
          "cublasSgemm");
    return;
  }
  auto [data, compute] = blas_type(operands);
  check(functions_->gemm_ex(handle_, op_b, op_a, shape.n, shape.m, shape.k, &alpha, pointer(b), data, row_b,
                            pointer(a), data, row_a, &beta, pointer(c), real_32f, shape.n, compute,
                            default_algorithm),
        "cublasGemmEx");
}

Cublas::Result Cublas::run(GemmShape shape, DType operands, float alpha, const Array &a, const Array &b,
                           float beta, const Array &c, const MeasureOptions &options) const {
  internal_check(a.size() == shape.m * shape.k && b.size() == shape.k * shape.n &&
                     c.size() == shape.m * shape.n,
                 "matrices of another shape than the product's");
  Memory device_a(device_, a.bytes()), device_b(device_, b.bytes()), device_c(device_, c.bytes());
  device_a.write(0, a.data(), a.bytes());
  device_b.write(0, b.data(), b.bytes());
  std::vector<Mode> modes = {Mode::standard};
  if (operands == DType::f32)
    modes.push_back(Mode::pedantic);
  std::vector<Array> products;
  std::vector<Competitor> competitors;
  for (Mode mode : modes) {
    competitors.push_back({name(mode), [=, this, &device_a, &device_b, &device_c](std::size_t) {
                             gemm(mode, shape, operands, alpha, device_a.address(), device_b.address(), beta,
                                  device_c.address());
                           }});
    device_c.write(0, c.data(), c.bytes());
    competitors.back().enqueue(0);
    device_.synchronize("cuBLAS failed");
    products.push_back(c);
    device_c.read(0, products.back().data(), products.back().bytes());
  }
  std::vector<Measured> measured = measure(device_, competitors, options);
  Result best;
  for (std::size_t n = 0; n < modes.size(); ++n)
    if (Spread ms = spread_of(measured[n].ms); n == 0 || ms.median < best.ms.median)
      best = {ms, modes[n], std::move(products[n])};
  return best;
}

} // namespace nestsmith::cuda
