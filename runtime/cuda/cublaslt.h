#pragma once
/// cuBLASLt for comparison: the algorithms that its heuristics propose for a product, so that the fastest can
/// be measured instead of the first.

#include "runtime/cuda/cublas.h"

#include <cstddef>
#include <memory>
#include <string>

namespace nestsmith::cuda {

/// The library may add a bias to each sum, take the maximum with zero, and store it in another type.
struct GemmEpilogue {
  DType result = DType::f32; ///< the type of C and of the bias: f32, or that of the operands
  bool bias = false;         ///< adds one element for each column
  bool relu = false;         ///< stores max(x, 0)
};

class CublasLt {
public:
  /// Opens cuBLASLt as `Cublas::open` opens cuBLAS.
  static std::unique_ptr<CublasLt> open(const Device &device);
  /// The same with functions from `resolver`.
  static std::unique_ptr<CublasLt> open(const Device &device, const Resolver &resolver);
  ~CublasLt();
  CublasLt(const CublasLt &) = delete;
  CublasLt &operator=(const CublasLt &) = delete;

  /// "13.0.2"
  const std::string &version() const { return version_; }

  static constexpr std::size_t most_algorithms = 8;

  /// One product, described to the library. The arguments are those of `Cublas::gemm`; f32 is true fp32. The
  /// library must outlive it.
  class Product {
  public:
    Product(const CublasLt &library, GemmShape shape, DType operands, const GemmEpilogue &epilogue = {});
    ~Product();
    Product(const Product &) = delete;
    Product &operator=(const Product &) = delete;

    /// The number of proposed algorithms, up to `most_algorithms`. The library's favourite is the first.
    std::size_t algorithms() const;
    /// Enqueues the product on the stream of the device. `bias` is not read if the epilogue has none.
    void enqueue(std::size_t algorithm, float alpha, Address a, Address b, float beta, Address c,
                 Address bias = 0) const;

  private:
    struct Handles;
    void describe(GemmShape shape, DType operands, const GemmEpilogue &epilogue);
    void propose();
    const CublasLt &library_;
    std::unique_ptr<Handles> handles_;
    bool has_bias_;
  };

private:
  struct Functions;
  struct Heuristic;
  explicit CublasLt(const Device &device);
  void check(int status, const char *call) const;

  const Device &device_;
  std::unique_ptr<Functions> functions_;
  Memory workspace_;
  void *handle_ = nullptr;
  std::string version_;
};

} // namespace nestsmith::cuda
