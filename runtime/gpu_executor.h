#pragma once
/// A GPU as an executor: CUDA C, NVRTC, a guarded launch.

#include "runtime/executor.h"
#include "runtime/gpu_kernel.h"

#include <map>
#include <memory>
#include <string>

namespace nestsmith {

/// What NVRTC makes of `kernel` for `arch`, through the kernel cache. Throws UserError (no_device) where
/// there is no NVRTC.
cuda::Compiled compile(const kernel::Kernel &kernel, const std::string &arch);

class GpuExecutor : public Executor {
public:
  /// `device` outlives it.
  explicit GpuExecutor(const cuda::Device &device) : device_(device) {}
  std::string_view name() const override { return device_.info().name; }
  Execution run(const kernel::Kernel &kernel, std::span<Array> arrays, std::span<const Scalar> scalars) override;
  cuda::Timing time(const kernel::Kernel &kernel, std::span<const Array> arrays, std::span<const Scalar> scalars);

private:
  const cuda::GpuKernel &loaded(const kernel::Kernel &kernel);

  const cuda::Device &device_;
  std::map<std::string, std::unique_ptr<cuda::GpuKernel>> kernels_; ///< by their text
};

} // namespace nestsmith
