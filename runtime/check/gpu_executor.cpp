#include "runtime/check/gpu_executor.h"

#include "codegen/cuda.h"
#include "dsl/ir/printer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

std::vector<cuda::Compiled> compile(const kernel::Plan &plan, Arch arch) {
  std::vector<cuda::Compiled> compiled;
  try {
    for (const kernel::Kernel &kernel : plan.kernels) {
      compiled.push_back(cuda::compile(cuda_kernel(kernel), entry_name(kernel), arch));
      compiled.back().shared_bytes += kernel.dynamic_shared_bytes(); // which the compiler does not see
    }
  } catch (const cuda::CompileError &error) {
    internal_error(error.what()); // the text is ours
  }
  return compiled;
}

GpuExecutor::GpuExecutor(const cuda::Device &device, Compile compile)
    : device_(device), compile_(std::move(compile)) {}

static std::string grid_text(const kernel::Kernel &kernel) {
  std::string text;
  for (const Expr &extent : kernel.grid_exprs())
    text += to_string(extent) + " ";
  return text;
}

const cuda::GpuPlan &GpuExecutor::loaded(const kernel::Plan &plan) {
  std::string key;
  for (const kernel::Workspace &workspace : plan.workspaces)
    key += fmt::format("{} {}\n", workspace.buffer->name, to_string(workspace.byte_offset));
  key += to_string(plan.workspace_bytes) + "\n";
  for (const kernel::Kernel &kernel : plan.kernels) // the extents of the launch need not show in the text
    key +=
        fmt::format("{} x {} takes {} and {}\n{}", grid_text(kernel), extents_text(kernel.block()),
                    fmt::join(plan.arguments(kernel), ", "), fmt::join(plan.values, ", "), cuda_kernel(kernel));
  auto &slot = plans_[key];
  if (!slot)
    slot = std::make_unique<cuda::GpuPlan>(device_, plan, compile_(plan, device_.info().arch()));
  return *slot;
}

Execution GpuExecutor::run(const kernel::Plan &plan, std::span<Array> arrays, std::span<const Scalar> scalars) {
  return {loaded(plan).run(arrays, scalars)};
}

cuda::Spread GpuExecutor::time(const kernel::Plan &plan, std::span<const Array> arrays,
                               std::span<const Scalar> scalars, const cuda::MeasureOptions &options) {
  return loaded(plan).time(arrays, scalars, options);
}

} // namespace nestsmith
