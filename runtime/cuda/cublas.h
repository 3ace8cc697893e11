#pragma once
/// cuBLAS beside our kernels: C = alpha * A * B + beta * C on row-major matrices, in true fp32, or with
/// operands of f16, bf16 or tf32 and sums in fp32.

#include "dsl/array.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/library.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cuda {

/// Row-major, without padding: A is m x k, or stored transposed as k x m; B is k x n or n x k; C is m x n.
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false;
};

class Cublas {
public:
  /// The first cuBLAS 12 or newer, by the order of library.h, that is no newer than the driver takes.
  /// Throws UserError (no_device) with the places looked at.
  static std::unique_ptr<Cublas> open(const Device &device);
  /// The functions come from `resolver`.
  static std::unique_ptr<Cublas> open(const Device &device, const Resolver &resolver);
  ~Cublas();
  Cublas(const Cublas &) = delete;
  Cublas &operator=(const Cublas &) = delete;

  /// "13.0.2"
  const std::string &version() const { return version_; }

  /// CUBLAS_DEFAULT_MATH and CUBLAS_PEDANTIC_MATH. Both are true fp32: TF32 and emulation are off, also where
  /// the environment asks for them. Pedantic further keeps to standard arithmetic and the exact type for
  /// what is stored in between (cublas_api.h). Operands of other types than f32 take the first.
  enum class Mode { standard, pedantic };

  /// Queues one product on the default stream. `operands` is the type of A and B: f32, f16, bf16, or tf32 for
  /// f32 that may be rounded to it. C, alpha and beta are f32.
  void gemm(Mode mode, GemmShape shape, DType operands, float alpha, Address a, Address b, float beta,
            Address c) const;

  struct Result {
    Timing timing; ///< of the faster mode
    Mode mode = Mode::standard;
    Array c; ///< of one product in that mode
  };
  /// Computes once and times the modes that there are on copies of the arrays.
  Result run(GemmShape shape, DType operands, float alpha, const Array &a, const Array &b, float beta,
             const Array &c, const TimingOptions &options = {}) const;

private:
  struct Functions;
  explicit Cublas(const Device &device);
  void check(int status, const char *call) const;

  const Device &device_;
  std::unique_ptr<Functions> functions_;
  void *handle_ = nullptr;
  std::string version_;
};

/// The mode as the table prints it: "default", "pedantic".
const char *name(Cublas::Mode mode);

/// Where the cuBLAS that `open` takes lies, and its version; opens no handle and needs no device.
struct CublasFound {
  std::filesystem::path path;
  std::string version, place;
};
std::optional<CublasFound> find_cublas(std::vector<std::string> &looked);

} // namespace nestsmith::cuda
