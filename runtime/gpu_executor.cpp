#include "runtime/gpu_executor.h"

#include "codegen/cuda.h"

#include <fmt/format.h>

namespace nestsmith {

cuda::Compiled compile(const kernel::Kernel &kernel, const std::string &arch) {
  try {
    return cuda::compile(cuda_kernel(kernel), entry_name(kernel), arch);
  } catch (const cuda::CompileError &error) {
    internal_error(error.what()); // the text is ours
  }
}

GpuExecutor::GpuExecutor(const cuda::Device &device, Compile compile)
    : device_(device), compile_(std::move(compile)) {}

const cuda::GpuKernel &GpuExecutor::loaded(const kernel::Kernel &kernel) {
  // The extents of the launch need not show in the text.
  std::string key = fmt::format("{} x {}\n{}", extents_text(kernel.grid()), extents_text(kernel.block()),
                                cuda_kernel(kernel));
  auto &slot = kernels_[key];
  if (!slot)
    slot = std::make_unique<cuda::GpuKernel>(device_, kernel, compile_(kernel, device_.info().arch()));
  return *slot;
}

Execution GpuExecutor::run(const kernel::Kernel &kernel, std::span<Array> arrays,
                           std::span<const Scalar> scalars) {
  return {loaded(kernel).run(arrays, scalars)};
}

cuda::Timing GpuExecutor::time(const kernel::Kernel &kernel, std::span<const Array> arrays,
                               std::span<const Scalar> scalars, const cuda::TimingOptions &options) {
  return loaded(kernel).time(arrays, scalars, options);
}

} // namespace nestsmith
