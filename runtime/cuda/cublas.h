#pragma once
/// cuBLAS for comparison: C = alpha * A * B + beta * C on row-major matrices, in true fp32, or with operands in
/// f16, bf16 or tf32 and sums in fp32.

#include "dsl/ir/array.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/library.h"
#include "runtime/cuda/measure.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cuda {

/// Row-major, without padding: A is m x k, or k x m if transposed; B is k x n, or n x k if transposed; C is m x
/// n.
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false;
};

class Cublas {
public:
  /// Opens the first cuBLAS, in the search order of library.h, that has version 12 or newer and that the driver
  /// supports. If there is none, throws UserError (no_device) with the searched places. `device` must outlive
  /// this object.
  static std::unique_ptr<Cublas> open(const Device &device);
  /// The same with functions from `resolver`.
  static std::unique_ptr<Cublas> open(const Device &device, const Resolver &resolver);
  ~Cublas();
  Cublas(const Cublas &) = delete;
  Cublas &operator=(const Cublas &) = delete;

  /// "13.0.2"
  const std::string &version() const { return version_; }

  /// CUBLAS_DEFAULT_MATH and CUBLAS_PEDANTIC_MATH. Both are true fp32: TF32 and emulation are disabled, even if
  /// the environment enables them. Pedantic mode also restricts intermediate results to standard arithmetic and
  /// the exact type (cublas_api.h). Operands of other types than f32 use the default mode.
  enum class Mode { standard, pedantic };

  /// Enqueues one product on the stream of the device. `operands` is the type of A and B: f32, f16 or bf16.
  /// With tf32, A and B are stored as f32, and cuBLAS may round them to tf32. C, alpha and beta are f32.
  void gemm(Mode mode, GemmShape shape, DType operands, float alpha, Address a, Address b, float beta,
            Address c) const;

  struct Result {
    Spread ms; ///< times of the faster mode
    Mode mode = Mode::standard;
    Array c; ///< the product in that mode
  };
  /// Computes the product once in each available mode, and measures the modes in turns on copies of the arrays.
  Result run(GemmShape shape, DType operands, float alpha, const Array &a, const Array &b, float beta,
             const Array &c, const MeasureOptions &options = single_launches) const;

private:
  struct Functions;
  explicit Cublas(const Device &device);
  void check(int status, const char *call) const;

  const Device &device_;
  std::unique_ptr<Functions> functions_;
  Memory workspace_;
  void *handle_ = nullptr;
  std::string version_;
};

/// The name of the mode in the table of `run`: "default", "pedantic".
const char *name(Cublas::Mode mode);

/// The cuBLAS that `open` uses. Finding it creates no handle and needs no device.
struct CublasFound {
  std::filesystem::path path;
  std::string version, place;
};
std::optional<CublasFound> find_cublas(std::vector<std::string> &looked);

} // namespace nestsmith::cuda
