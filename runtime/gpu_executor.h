#pragma once
/// Runs kernels on a GPU: codegen spells them, NVRTC compiles them for the device, the driver launches them
/// under guard.

#include "runtime/executor.h"
#include "runtime/gpu_kernel.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace nestsmith {

/// What NVRTC makes of `kernel` for `arch`, through the kernel cache. Throws UserError: no_device where
/// there is no NVRTC, usage where it does not know the architecture.
cuda::Compiled compile(const kernel::Kernel &kernel, const std::string &arch);

class GpuExecutor : public Executor {
public:
  using Compile = std::function<cuda::Compiled(const kernel::Kernel &, const std::string &arch)>;

  /// `device` outlives it.
  explicit GpuExecutor(const cuda::Device &device, Compile compile = nestsmith::compile);

  std::string_view name() const override { return device_.info().name; }
  Execution run(const kernel::Kernel &kernel, std::span<Array> arrays,
                std::span<const Scalar> scalars) override;
  /// Times runs on copies of `arrays`; nothing is written back.
  cuda::Timing time(const kernel::Kernel &kernel, std::span<const Array> arrays,
                    std::span<const Scalar> scalars, const cuda::TimingOptions &options = {});

private:
  const cuda::GpuKernel &loaded(const kernel::Kernel &kernel);

  const cuda::Device &device_;
  Compile compile_;
  std::map<std::string, std::unique_ptr<cuda::GpuKernel>> kernels_; ///< by text and launch extents
};

} // namespace nestsmith
