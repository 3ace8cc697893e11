#include "runtime/cuda/cublas.h"

#include "dsl/error.h"

#include <climits>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

namespace nestsmith::cuda {

// From cublas_api.h and library_types.h of CUDA 12 and 13. cublasStatus_t, cublasOperation_t, cublasMath_t
// and libraryPropertyType are enums, cublasHandle_t is a pointer.
struct Cublas::Functions {
  const char *(*get_status_name)(int) = nullptr;
  int (*create)(void **) = nullptr;
  int (*destroy)(void *) = nullptr;
  int (*set_math_mode)(void *, int) = nullptr;
  int (*get_property)(int, int *) = nullptr;
  int (*sgemm)(void *, int, int, std::int64_t, std::int64_t, std::int64_t, const float *, const float *,
               std::int64_t, const float *, std::int64_t, const float *, float *, std::int64_t) = nullptr;
  int (*gemm_ex)(void *, int, int, std::int64_t, std::int64_t, std::int64_t, const void *, const void *, int,
                 std::int64_t, const void *, int, std::int64_t, const void *, void *, int, std::int64_t, int,
                 int) = nullptr;
};

namespace {

constexpr int op_n = 0, op_t = 1;                  // CUBLAS_OP_N, CUBLAS_OP_T
constexpr int default_math = 0, pedantic_math = 2; // CUBLAS_DEFAULT_MATH, CUBLAS_PEDANTIC_MATH
constexpr int real_32f = 0;                        // CUDA_R_32F
constexpr int default_algorithm = -1;              // CUBLAS_GEMM_DEFAULT

/// The cudaDataType of the operands, and the cublasComputeType_t that sums their products in fp32.
struct ExtendedType {
  int data, compute;
};
ExtendedType extended_type(DType operands) {
  switch (operands) {
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

template <class F> void resolve(F *&function, const Resolver &resolver, const char *name) {
  function = reinterpret_cast<F *>(resolver(name));
  if (!function)
    throw UserError(ExitCode::no_device, fmt::format("cuBLAS has no {}; cuBLAS 12 or newer is needed", name));
}

/// The version as {major, minor, patch}: the property types are numbered in this order. {0, 0, 0} if the
/// library does not report it.
std::array<int, 3> version_of(int (*get_property)(int, int *)) {
  std::array<int, 3> version{};
  for (int i = 0; i < 3; ++i)
    if (!get_property || get_property(i, &version[static_cast<std::size_t>(i)]) != 0)
      return {};
  return version;
}

std::array<int, 3> version_of(const Library &library) {
  return version_of(reinterpret_cast<int (*)(int, int *)>(library.symbol("cublasGetProperty")));
}

std::string text(const std::array<int, 3> &version) {
  return fmt::format("{}.{}.{}", version[0], version[1], version[2]);
}

/// These environment variables let cuBLAS compute an fp32 product with less precision, or a tf32 product with
/// more. cuBLAS reads them when it starts.
void forbid_other_precision() {
  unsetenv("NVIDIA_TF32_OVERRIDE");
  setenv("CUBLAS_EMULATE_SINGLE_PRECISION", "0", 1);
}

Search search_cublas() {
  std::optional<int> driver = driver_version();
  int largest_major = driver ? *driver / 1000 : INT_MAX;
  forbid_other_precision();
  return find_library(LibraryKind::cublas, [&](const Library &library) -> std::string {
    std::array<int, 3> version = version_of(library);
    if (version[0] < 12)
      return fmt::format("is cuBLAS {} (older than 12)", text(version));
    if (version[0] > largest_major)
      return fmt::format("is cuBLAS {} (the driver supports at most CUDA {})", text(version), largest_major);
    return "";
  });
}

} // namespace

const char *name(Cublas::Mode mode) { return mode == Cublas::Mode::standard ? "default" : "pedantic"; }

std::optional<CublasFound> find_cublas(std::vector<std::string> &looked) {
  Search search = search_cublas();
  looked = search.looked;
  if (!search.library)
    return std::nullopt;
  return CublasFound{search.library->path, text(version_of(*search.library)), search.library->place};
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
  resolve(functions.get_status_name, resolver, "cublasGetStatusName");
  resolve(functions.create, resolver, "cublasCreate_v2");
  resolve(functions.destroy, resolver, "cublasDestroy_v2");
  resolve(functions.set_math_mode, resolver, "cublasSetMathMode");
  resolve(functions.get_property, resolver, "cublasGetProperty");
  resolve(functions.sgemm, resolver, "cublasSgemm_v2_64");
  resolve(functions.gemm_ex, resolver, "cublasGemmEx_64");
  cublas->version_ = text(version_of(functions.get_property));
  cublas->check(functions.create(&cublas->handle_), "cublasCreate");
  return cublas;
}

Cublas::Cublas(const Device &device) : device_(device), functions_(std::make_unique<Functions>()) {}

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
  auto [data, compute] = extended_type(operands);
  check(functions_->gemm_ex(handle_, op_b, op_a, shape.n, shape.m, shape.k, &alpha, pointer(b), data, row_b,
                            pointer(a), data, row_a, &beta, pointer(c), real_32f, shape.n, compute,
                            default_algorithm),
        "cublasGemmEx");
}

Cublas::Result Cublas::run(GemmShape shape, DType operands, float alpha, const Array &a, const Array &b,
                           float beta, const Array &c, const TimingOptions &options) const {
  internal_check(a.size() == shape.m * shape.k && b.size() == shape.k * shape.n &&
                     c.size() == shape.m * shape.n,
                 "matrices of another shape than the product's");
  Memory device_a(device_, a.bytes()), device_b(device_, b.bytes()), device_c(device_, c.bytes());
  device_a.write(0, a.data(), a.bytes());
  device_b.write(0, b.data(), b.bytes());
  Result best;
  std::vector<Mode> modes = {Mode::standard};
  if (operands == DType::f32)
    modes.push_back(Mode::pedantic);
  for (Mode mode : modes) {
    auto enqueue = [&] {
      gemm(mode, shape, operands, alpha, device_a.address(), device_b.address(), beta, device_c.address());
    };
    device_c.write(0, c.data(), c.bytes());
    enqueue();
    device_.synchronize("cuBLAS failed");
    Array product = c;
    device_c.read(0, product.data(), product.bytes());
    Timing timing = time_runs(device_, enqueue, options);
    if (mode == Mode::standard || timing.median_ms < best.timing.median_ms)
      best = {timing, mode, std::move(product)};
  }
  return best;
}

} // namespace nestsmith::cuda
