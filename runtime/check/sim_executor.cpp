#include "runtime/check/sim_executor.h"

#include "dsl/expr/error.h"

#include <fmt/format.h>
#include <list>

namespace nestsmith {

Execution SimExecutor::run(const kernel::Plan &plan, std::span<Array> arrays, std::span<const Scalar> scalars) {
  return run_residues(Arithmetic::floating, plan, arrays, scalars);
}

Execution SimExecutor::run_residues(Arithmetic arithmetic, const kernel::Plan &given, std::span<Array> arrays,
                                    std::span<const Scalar> scalars) {
  sim::Options options = options_;
  options.arithmetic = arithmetic;
  const kernel::Plan plan = specialise(given);
  internal_check(arrays.size() == plan.params.size(), "an array for each parameter");
  internal_check(scalars.size() == plan.scalars.size(), "a value for each scalar");
  std::vector<sim::Argument> all;
  for (std::size_t n = 0; n < arrays.size(); ++n)
    all.push_back({&arrays[n], plan.params[n]->role != Role::output});
  std::list<Array> workspaces; // zeros, as counters require
  for (const kernel::Workspace &workspace : plan.workspaces)
    all.push_back({&workspaces.emplace_back(workspace.buffer->dtype,
                                            std::vector{kernel::element_count(workspace.buffer)}),
                   false});

  stats_ = {};
  found_.clear();
  for (const kernel::Kernel &kernel : plan.kernels) {
    std::vector<std::size_t> positions = plan.arguments(kernel);
    std::vector<sim::Argument> arguments;
    for (std::size_t position : positions)
      arguments.push_back(all[position]);
    std::vector<Scalar> values;
    for (std::size_t position : plan.scalar_arguments(kernel))
      values.push_back(scalars[position]);
    sim::Result result = sim::run(kernel, arguments, values, options);
    stats_ += result.stats;
    if (!result.good()) {
      std::string where = plan.kernels.size() > 1 ? fmt::format("kernel {}: ", kernel.name) : "";
      Execution execution;
      for (const sim::Diagnostic &diagnostic : result.diagnostics)
        execution.diagnostics.push_back(where + diagnostic.message);
      found_ = std::move(result.diagnostics);
      return execution;
    }
    for (std::size_t n = 0; n < positions.size(); ++n)
      all[positions[n]].written = std::move(result.written[n]);
  }
  return {};
}

} // namespace nestsmith
