#include "codegen/launcher.h"

#include "codegen/names.h"
#include "codegen/tensor_maps.h"
#include "dsl/expr/error.h"
#include "dsl/ir/printer.h"
#include "dsl/ir/workload_info.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

namespace {

std::vector<std::int64_t> extents(const Buffer &buffer) {
  std::vector<std::int64_t> result;
  for (const Expr &extent : buffer->shape) {
    internal_check(as_int(extent).has_value(), "the shape of a parameter is constant");
    result.push_back(*as_int(extent));
  }
  return result;
}

std::string_view role_text(Role role) {
  switch (role) {
  case Role::input:
    return "read";
  case Role::output:
    return "written";
  case Role::inout:
    return "read and written";
  case Role::temporary:
    return "workspace";
  }
  internal_error("unknown role");
}

} // namespace

std::string joined_names(const std::vector<Parameter> &parameters) {
  std::vector<std::string> names;
  for (const Parameter &parameter : parameters)
    names.push_back(parameter.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string arguments_for(const Launcher &launcher, const kernel::Plan &plan, const std::string &chosen,
                          bool launch) {
  std::vector<Parameter> list = launcher.pointers;
  auto size = launcher.sizes.begin();
  for (const kernel::SizeParameter &parameter : plan.sizes)
    list.push_back(is_of_array(plan.params, parameter.size) ? *size++ : Parameter{"long long", chosen});
  internal_check(size == launcher.sizes.end(), "the plans of a file have the same sizes of arrays");
  if (launch)
    list.insert(list.end(), launcher.scalars.begin(), launcher.scalars.end());
  if (!plan.workspaces.empty())
    list.insert(list.end(), {launcher.workspace, launcher.workspace_bytes});
  std::string names = joined_names(list);
  if (launch)
    names += names.empty() ? "stream" : ", stream";
  return names;
}

std::vector<Var> chosen_sizes(const kernel::Plan &plan) {
  std::vector<Var> chosen;
  for (const kernel::SizeParameter &parameter : plan.sizes)
    if (!is_of_array(plan.params, parameter.size))
      chosen.push_back(parameter.size);
  return chosen;
}

std::string function_name(const kernel::Plan &plan, const char *suffix) {
  std::string name = linked_identifier(plan.name) + suffix;
  auto taken = [&] {
    return std::ranges::any_of(plan.kernels, [&](const auto &kernel) { return entry_name(kernel) == name; }) ||
           std::ranges::any_of(plan.params, [&](const Buffer &buffer) { return buffer->name == name; });
  };
  while (taken())
    name += "_";
  return name;
}

std::string SizeSpeller::variable(const Var &var) const { return names_.at(var); }
std::string SizeSpeller::element(const Load &) const { internal_error("a size that is read from memory"); }

std::string launcher_name(const kernel::Plan &plan) { return function_name(plan, "_launch"); }
std::string requirement_name(const kernel::Plan &plan) { return function_name(plan, "_requirement"); }
std::string workspace_bytes_name(const kernel::Plan &plan) { return function_name(plan, "_workspace_bytes"); }

std::vector<NamedExtent> launcher_sizes(const EmitInfo &info, const kernel::Plan &plan) {
  std::vector<NamedExtent> sizes;
  for (std::size_t n = 0; n < plan.sizes.size(); ++n)
    sizes.push_back({plan.sizes[n].size->name, plan.values.empty() ? 0 : plan.values[n]});
  if (!sizes.empty() || !info.sizes.empty())
    return sizes.empty() ? info.sizes : sizes;
  for (const Buffer &buffer : plan.params) {
    std::vector<std::int64_t> shape = extents(buffer);
    for (std::size_t n = 0; n < shape.size(); ++n)
      sizes.push_back({fmt::format("{}_dim{}", buffer->name, n), shape[n]});
  }
  return sizes;
}

Launcher::Launcher(const EmitInfo &info, const kernel::Plan &plan)
    : plan(plan), pointers(pointer_parameters(plan)), scalars(scalar_parameters(plan)),
      workspace_function(info.workspace_function), spell(names), dispatched_(!info.workspace_function.empty()) {
  if (!dispatched_)
    workspace_function = workspace_bytes_name(plan);
  NameTable table;
  for (const kernel::Kernel &kernel : plan.kernels)
    table.claim(entry_name(kernel));
  for (const auto *group : {&pointers, &scalars})
    for (const Parameter &parameter : *group)
      table.claim(parameter.name);
  // 64 bits in every launcher, so that no value is truncated before it is checked.
  for (const NamedExtent &size : launcher_sizes(info, plan)) {
    sizes.push_back({"long long", table.claim(size.name)});
    values.push_back(size.value);
  }
  for (std::size_t n = 0; n < plan.sizes.size(); ++n)
    names[plan.sizes[n].size] = sizes[n].name;
  workspace = {"void *", table.claim("workspace")};
  workspace_bytes = {"size_t", table.claim("workspace_bytes")};
  for (const kernel::Workspace &part : plan.workspaces)
    workspaces.push_back({fmt::format("{} *", c_type(part.buffer->dtype)), table.claim(part.buffer->name)});
}

std::vector<std::string> Launcher::parameters() const {
  std::vector<std::string> result;
  for (const auto *group : {&pointers, &sizes, &scalars})
    for (const Parameter &parameter : *group)
      result.push_back(parameter.declaration());
  if (!workspaces.empty())
    for (const Parameter &parameter : {workspace, workspace_bytes})
      result.push_back(parameter.declaration());
  result.push_back("cudaStream_t stream"); // no array has this name: see codegen/names.cpp
  return result;
}

std::vector<Parameter> Launcher::checked() const {
  std::vector<Parameter> result = pointers;
  result.insert(result.end(), sizes.begin(), sizes.end());
  if (!workspaces.empty())
    result.insert(result.end(), {{"const void *", workspace.name}, workspace_bytes});
  return result;
}

std::vector<Parameter> Launcher::of_workspace_bytes() const {
  if (plan.sizes.empty() && !dispatched_)
    return {};
  std::vector<Parameter> result;
  for (std::size_t n = 0; n < sizes.size(); ++n)
    if (!dispatched_ || n >= plan.sizes.size() || is_of_array(plan.params, plan.sizes[n].size))
      result.push_back(sizes[n]);
  return result;
}

std::string Launcher::workspace_call() const {
  return fmt::format("{}({})", workspace_function, joined_names(of_workspace_bytes()));
}

const std::string &Launcher::array(const kernel::Kernel &kernel, const Buffer &buffer) const {
  const auto at = std::ranges::find(kernel.params, buffer) - kernel.params.begin();
  const std::size_t n = plan.arguments(kernel).at(static_cast<std::size_t>(at));
  return (n < pointers.size() ? pointers[n] : workspaces[n - pointers.size()]).name;
}

std::string Launcher::arguments(const kernel::Kernel &kernel) const {
  std::vector<std::string> list;
  for (const Buffer &buffer : kernel.params)
    list.push_back(array(kernel, buffer));
  if (!plan.sizes.empty())
    for (const Parameter &size : sizes)
      list.push_back(size.name);
  for (std::size_t n : plan.scalar_arguments(kernel))
    list.push_back(scalars[n].name);
  for (const std::string &map : tensor_map_names(kernel))
    list.push_back(map);
  return fmt::format("{}", fmt::join(list, ", "));
}

std::string counters_text(const kernel::Plan &plan) {
  if (!plan.has_counters())
    return "";
  const std::string first =
      plan.reserved_counter_bytes > 0
          ? fmt::format("The first {} bytes of the workspace are counters of thread blocks. Set them to zero "
                        "before the first launch with this memory, and after any use by others. Each launch "
                        "leaves them zero, and launches of other sizes may follow.",
                        plan.reserved_counter_bytes)
          : "The workspace begins with counters of thread blocks. Set it to zero before the first launch, and "
            "after any other use, such as a launch of other sizes. Each launch leaves the counters zero.";
  return first + " Two launches that may run at the same time need two workspaces.";
}

std::map<Buffer, std::int64_t> alignments(const kernel::Plan &plan) {
  std::map<Buffer, std::int64_t> result;
  for (const kernel::Kernel &kernel : plan.kernels)
    for (const auto &[buffer, bytes] : kernel.aligned)
      result[buffer] = std::max(result[buffer], bytes);
  return result;
}

std::string shape_text(const Buffer &buffer) {
  std::string shape;
  for (const Expr &extent : buffer->shape)
    shape += (shape.empty() ? "" : ", ") + to_string(extent);
  return fmt::format("[{}]", shape);
}

std::string array_text(const Buffer &buffer) { return array_text(buffer, shape_text(buffer)); }

std::string array_text(const Buffer &buffer, const std::string &shape) {
  std::string rows = "row-major";
  if (buffer->strides)
    rows += fmt::format(", rows {} apart", to_string((*buffer->strides)[buffer->shape.size() - 2]));
  return fmt::format("{} {}, {}, {}", c_type(buffer->dtype), shape, rows, role_text(buffer->role));
}

} // namespace nestsmith
