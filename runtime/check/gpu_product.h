#pragma once
/// Matrix products for the reference on a GPU, in fp64 or in Z/2^32: from 4096 up a CPU takes too long over
/// them.

#include "runtime/check/reference.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/nvrtc.h"

#include <functional>
#include <memory>
#include <string>

namespace nestsmith {

class GpuProduct : public Multiplier {
public:
  using Compile = std::function<cuda::Compiled(const std::string &source, const std::string &kernel_name,
                                               const std::string &arch)>;

  /// `device` outlives it. Nothing is compiled before the first product.
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
