#pragma once
/// Executes plans on a GPU: codegen prints the kernels, NVRTC compiles them, and the driver launches them with
/// guard bands.

#include "runtime/check/executor.h"
#include "runtime/check/gpu_plan.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace nestsmith {

/// Compiles each kernel of `plan` for `arch` with NVRTC and the kernel cache. Throws UserError: no_device
/// without NVRTC, usage for an architecture that it does not support.
std::vector<cuda::Compiled> compile(const kernel::Plan &plan, Arch arch);

class GpuExecutor : public Executor {
public:
  using Compile = std::function<std::vector<cuda::Compiled>(const kernel::Plan &, Arch)>;

  /// `device` must outlive this object.
  explicit GpuExecutor(const cuda::Device &device, Compile compile = nestsmith::compile);

  std::string_view name() const override { return device_.info().name; }
  Execution run(const kernel::Plan &plan, std::span<Array> arrays, std::span<const Scalar> scalars) override;
  /// The time of one launch in ms, on copies of `arrays`; nothing is written back.
  cuda::Spread time(const kernel::Plan &plan, std::span<const Array> arrays, std::span<const Scalar> scalars,
                    const cuda::MeasureOptions &options = cuda::single_launches);
  /// The plan on the device: compiled and loaded at its first use, and kept as long as this object.
  const cuda::GpuPlan &loaded(const kernel::Plan &plan);

private:
  const cuda::Device &device_;
  Compile compile_;
  /// Loaded plans, by their text and launch extents.
  std::map<std::string, std::unique_ptr<cuda::GpuPlan>> plans_;
};

} // namespace nestsmith
