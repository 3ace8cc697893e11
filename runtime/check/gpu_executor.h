#pragma once
/// Runs plans on a GPU: codegen spells them, NVRTC compiles them for the device, the driver launches them
/// under guard.

#include "runtime/check/executor.h"
#include "runtime/check/gpu_plan.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace nestsmith {

/// What NVRTC makes of each kernel of `plan` for `arch`, through the kernel cache. Throws UserError: no_device
/// where there is no NVRTC, usage where it does not know the architecture.
std::vector<cuda::Compiled> compile(const kernel::Plan &plan, const std::string &arch);

class GpuExecutor : public Executor {
public:
  using Compile = std::function<std::vector<cuda::Compiled>(const kernel::Plan &, const std::string &arch)>;

  /// `device` outlives it.
  explicit GpuExecutor(const cuda::Device &device, Compile compile = nestsmith::compile);

  std::string_view name() const override { return device_.info().name; }
  Execution run(const kernel::Plan &plan, std::span<Array> arrays, std::span<const Scalar> scalars) override;
  /// Times runs on copies of `arrays`; nothing is written back.
  cuda::Timing time(const kernel::Plan &plan, std::span<const Array> arrays, std::span<const Scalar> scalars,
                    const cuda::TimingOptions &options = {});

private:
  const cuda::GpuPlan &loaded(const kernel::Plan &plan);

  const cuda::Device &device_;
  Compile compile_;
  std::map<std::string, std::unique_ptr<cuda::GpuPlan>> plans_; ///< by text and launch extents
};

} // namespace nestsmith
