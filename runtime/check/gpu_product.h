#pragma once
/// Computes matrix products for the reference on a GPU, in fp64 or in Z/2^32. `serves` is true for products of
/// 4096^3 multiply-adds or more; the CPU computes smaller products.

#include "runtime/check/reference.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/nvrtc.h"

#include <functional>
#include <memory>
#include <string>

namespace nestsmith {

class GpuProduct : public Multiplier {
public:
  using Compile =
      std::function<cuda::Compiled(const std::string &source, const std::string &kernel_name, Arch arch)>;

  /// `device` must outlive this object. The first product compiles the kernel.
  explicit GpuProduct(const cuda::Device &device, Compile compile = cuda::compile);

  bool serves(const Product &product) const override;
  std::vector<double> multiply(const Product &product, const std::vector<double> &x,
                               const std::vector<double> &y) override;

private:
  const cuda::Device &device_;
  Compile compile_;
  std::unique_ptr<cuda::Module> module_;
};

} // namespace nestsmith
