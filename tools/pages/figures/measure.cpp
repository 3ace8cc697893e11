#include "tools/pages/figures/measure.h"

#include "dsl/expr/error.h"
#include "lowering/lower.h"
#include "runtime/check/gpu_executor.h"
#include "runtime/model/analyse.h"
#include "runtime/model/count.h"

#include <algorithm>

namespace nestsmith::figure {

model::RequestSums RungCounts::access(const std::string &buffer, bool stores) const {
  model::RequestSums sum;
  for (const model::AccessCounts &access : counters.accesses)
    if (access.buffer->name == buffer && access.is_store() == stores)
      sum += access;
  return sum;
}

RungCounts measure(const Schedule &schedule, std::uint64_t max_blocks) {
  kernel::Plan plan = lower(schedule);
  RungCounts result{plan.only(), {}, 0};
  result.counters = model::count(result.kernel, ones(result.kernel), {max_blocks, 0});
  for (const model::AccessCounts &access : result.counters.accesses)
    if (access.is_store() && access.buffer->scope == Scope::global)
      result.results += static_cast<double>(access.asked) / byte_size(access.buffer->dtype);
  return result;
}

const Rung &find_rung(const std::string &name) {
  const std::vector<Rung> &rungs = builtin_rungs();
  auto found = std::ranges::find(rungs, name, &Rung::full_name);
  internal_check(found != rungs.end(), "a figure of a rung that there is not");
  return *found;
}

RungCounts measure(const std::string &rung, const Shape &shape, Arch arch) {
  const Rung &found = find_rung(rung);
  return measure(found.build(shape, found.dtype(), make_target(arch)));
}

PlanAnalysis analyse_rung(const std::string &name, const Shape &shape, const Gpu &gpu,
                          std::uint64_t max_requests, DType dtype) {
  const Rung &rung = find_rung(name);
  Schedule schedule = rung.build(shape, rung.dtype(dtype), target_of(gpu));
  kernel::Plan plan = lower(schedule);
  std::vector<KernelResources> compiled;
  try {
    for (const cuda::Compiled &kernel : compile(plan, gpu.arch))
      compiled.push_back(kernel);
  } catch (const UserError &) { // without an NVRTC that knows the GPU, registers do not limit the occupancy
    compiled.clear();
  }
  return analyse(schedule.source(), plan, gpu, compiled, {.max_requests = max_requests});
}

Occupancy occupancy_of(const Gpu &gpu, const LaunchResources &launch) {
  return occupancy_calculator() ? occupancy(gpu, launch) : occupancy_without_registers(gpu, launch);
}

} // namespace nestsmith::figure
