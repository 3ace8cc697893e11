#include "runtime/sim_executor.h"

#include "dsl/error.h"

#include <fmt/format.h>

namespace nestsmith {

Execution SimExecutor::run(const kernel::Kernel &kernel, std::span<Array> arrays,
                           std::span<const Scalar> scalars) {
  internal_check(arrays.size() == kernel.params.size(), "an array for each parameter");
  std::vector<sim::Argument> arguments;
  for (std::size_t n = 0; n < arrays.size(); ++n)
    arguments.push_back({&arrays[n], kernel.params[n]->role != Role::output});
  sim::Result result = sim::run(kernel, arguments, scalars, options_);
  stats_ = result.stats;
  Execution execution;
  for (const sim::Finding &finding : result.findings)
    execution.findings.push_back(finding.message);
  return execution;
}

} // namespace nestsmith
