#include "lowering/plan.h"

#include "dsl/error.h"
#include "dsl/printer.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::kernel {

Plan::Plan(Kernel kernel) : name(kernel.name), params(kernel.params), scalars(kernel.scalars) {
  kernels.push_back(std::move(kernel));
}

const Kernel &Plan::only() const {
  internal_check(kernels.size() == 1, "a plan of several kernels is taken for one kernel");
  return kernels.front();
}

std::int64_t Plan::shared_bytes() const {
  std::int64_t most = 0;
  for (const Kernel &kernel : kernels)
    most = std::max(most, kernel.shared_bytes);
  return most;
}

void Plan::add_workspace(const Buffer &buffer) {
  std::int64_t start = (workspace_bytes + workspace_alignment - 1) / workspace_alignment * workspace_alignment;
  workspaces.push_back({buffer, start});
  workspace_bytes = start + element_count(buffer) * byte_size(buffer->dtype);
}

std::vector<std::size_t> Plan::arguments(const Kernel &kernel) const {
  std::vector<Buffer> all = params;
  for (const Workspace &workspace : workspaces)
    all.push_back(workspace.buffer);
  std::vector<std::size_t> positions;
  for (const Buffer &param : kernel.params) {
    auto at = std::ranges::find(all, param);
    internal_check(at != all.end(), "a kernel takes a buffer that its plan does not have");
    positions.push_back(static_cast<std::size_t>(at - all.begin()));
  }
  return positions;
}

std::vector<std::size_t> Plan::scalar_arguments(const Kernel &kernel) const {
  std::vector<std::size_t> positions;
  for (const Var &scalar : kernel.scalars) {
    auto at = std::ranges::find(scalars, scalar);
    internal_check(at != scalars.end(), "a kernel takes a scalar that its plan does not have");
    positions.push_back(static_cast<std::size_t>(at - scalars.begin()));
  }
  return positions;
}

std::int64_t element_count(const Buffer &buffer) {
  std::int64_t product = 1;
  for (const Expr &extent : buffer->shape)
    product *= as_int(extent).value();
  return product;
}

std::string print(const Plan &plan) {
  std::string text;
  for (const Workspace &workspace : plan.workspaces) {
    std::vector<std::string> extents;
    for (const Expr &extent : workspace.buffer->shape)
      extents.push_back(to_string(extent));
    text += fmt::format("workspace {}[{}]: {} at byte {}\n", workspace.buffer->name, fmt::join(extents, ", "),
                        name(workspace.buffer->dtype), workspace.byte_offset);
  }
  for (const Kernel &kernel : plan.kernels)
    text += (text.empty() ? "" : "\n") + print(kernel);
  return text;
}

} // namespace nestsmith::kernel
