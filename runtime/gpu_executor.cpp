#include "runtime/gpu_executor.h"

#include "codegen/cuda.h"

namespace nestsmith {

cuda::Compiled compile(const kernel::Kernel &kernel, const std::string &arch) {
  return cuda::compile(cuda_kernel(kernel), entry_name(kernel), arch);
}

const cuda::GpuKernel &GpuExecutor::loaded(const kernel::Kernel &kernel) {
  auto &slot = kernels_[cuda_kernel(kernel)];
  if (!slot)
    slot = std::make_unique<cuda::GpuKernel>(device_, kernel, compile(kernel, device_.info().arch()));
  return *slot;
}

Execution GpuExecutor::run(const kernel::Kernel &kernel, std::span<Array> arrays, std::span<const Scalar> scalars) {
  return {loaded(kernel).run(arrays, scalars)};
}

cuda::Timing GpuExecutor::time(const kernel::Kernel &kernel, std::span<const Array> arrays,
                               std::span<const Scalar> scalars) {
  return loaded(kernel).time(arrays, scalars);
}

} // namespace nestsmith
