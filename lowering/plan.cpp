#include "lowering/plan.h"

#include "dsl/expr/error.h"
#include "dsl/expr/simplify.h"
#include "dsl/ir/printer.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

namespace nestsmith::kernel {

Plan::Plan(Kernel kernel)
    : name(kernel.name), params(kernel.params), sizes(kernel.sizes), scalars(kernel.scalars) {
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

void Plan::add_workspace(const Buffer &buffer, bool counters) {
  Expr start = simplify(ceildiv(workspace_bytes, Expr(workspace_alignment)) * Expr(workspace_alignment));
  workspaces.push_back({buffer, start, counters});
  workspace_bytes = simplify(start + span_of(*buffer) * Expr(byte_size(buffer->dtype)));
}

void Plan::reserve_counters(std::int64_t bytes) {
  const std::vector<Workspace> before = std::exchange(workspaces, {});
  workspace_bytes = 0;
  reserved_counter_bytes = bytes;
  for (const bool counters : {true, false}) {
    for (const Workspace &workspace : before)
      if (workspace.counters == counters)
        add_workspace(workspace.buffer, counters);
    if (counters)
      workspace_bytes = bytes;
  }
}

Expr Plan::counter_bytes() const {
  Expr end = 0;
  for (const Workspace &workspace : workspaces) // the counters come first
    if (workspace.counters)
      end = workspace.byte_offset + span_of(*workspace.buffer) * Expr(byte_size(workspace.buffer->dtype));
  return simplify(end);
}

std::vector<Assumption> Plan::assumptions() const {
  std::vector<Assumption> all;
  for (const Kernel &kernel : kernels)
    for (const Assumption &assumption : kernel.assumptions)
      if (std::ranges::none_of(all,
                               [&](const Assumption &other) { return same(other.holds, assumption.holds); }))
        all.push_back(assumption);
  return all;
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

Plan with_sizes(const Plan &plan, std::span<const std::int64_t> values) {
  for (const Kernel &kernel : plan.kernels)
    check_assumptions(kernel, values);
  Plan result = plan;
  result.values.assign(values.begin(), values.end());
  return result;
}

Plan renamed(Plan plan, const std::string &name) {
  for (Kernel &kernel : plan.kernels)
    kernel.name = kernel.name.starts_with(plan.name) ? name + kernel.name.substr(plan.name.size())
                                                     : fmt::format("{}_{}", name, kernel.name);
  plan.name = name;
  return plan;
}

Plan specialise(const Plan &plan) {
  if (plan.sizes.empty())
    return plan;
  internal_check(plan.values.size() == plan.sizes.size(), "a plan with sizes is run without values for them");
  Specialiser specialiser;
  for (std::size_t n = 0; n < plan.values.size(); ++n)
    specialiser.set(plan.sizes[n].size, plan.values[n]);
  Plan result = plan;
  result.sizes.clear();
  result.values.clear();
  for (Buffer &param : result.params)
    param = specialiser(param);
  for (Workspace &workspace : result.workspaces)
    workspace = {specialiser(workspace.buffer), specialiser(workspace.byte_offset), workspace.counters};
  result.workspace_bytes = specialiser(result.workspace_bytes);
  for (Kernel &kernel : result.kernels)
    kernel = specialise(kernel, plan.values, specialiser);
  return result;
}

std::int64_t element_count(const Buffer &buffer) {
  std::int64_t product = 1;
  for (const Expr &extent : buffer->shape)
    product *= as_int(extent).value();
  return product;
}

std::int64_t workspace_bytes(const Plan &plan) { return as_int(specialise(plan).workspace_bytes).value(); }

std::string print(const Plan &plan) { return print_traced(plan).text; }

TracedText print_traced(const Plan &plan) {
  TracedText result;
  for (const Workspace &workspace : plan.workspaces) {
    std::vector<std::string> extents;
    for (const Expr &extent : workspace.buffer->shape)
      extents.push_back(to_string(extent));
    result.text += fmt::format("workspace {}[{}]: {} at byte {}{}\n", workspace.buffer->name,
                               fmt::join(extents, ", "), name(workspace.buffer->dtype),
                               to_string(workspace.byte_offset), workspace.counters ? ", zero" : "");
    result.lines.emplace_back();
  }
  for (const Kernel &kernel : plan.kernels) {
    if (!result.text.empty()) {
      result.text += '\n';
      result.lines.emplace_back();
    }
    TracedText one = print_traced(kernel);
    result.text += one.text;
    std::ranges::move(one.lines, std::back_inserter(result.lines));
  }
  return result;
}

} // namespace nestsmith::kernel
