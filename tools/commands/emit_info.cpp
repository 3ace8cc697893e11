#include "tools/commands/emit_info.h"

#include "codegen/names.h"
#include "dsl/expr/error.h"
#include "dsl/ir/workload_info.h"
#include "dsl/schedule/makers.h"
#include "dsl/schedule/trace.h"
#include "runtime/check/launch_sizes.h"
#include "schedules/workloads.h"
#include "tools/options/machine.h"
#include "tools/options/scheduled.h"
#include "tools/output/text_diff.h"

#include <fmt/format.h>
#include <functional>
#include <memory>

namespace nestsmith::cli {

/// Kernels that `emit` compiles for its notes. More would take minutes.
static constexpr std::size_t most_compiled = 64;

std::vector<NamedExtent> sizes_of(const Scheduled &scheduled, const Target &target) {
  Shape shape = scheduled.shape;
  shape.stated = Size{};
  Program source = scheduled.source();
  auto named = [&](const std::function<std::optional<Program>()> &symbolic) -> std::vector<NamedExtent> {
    try {
      std::optional<Program> program = symbolic();
      return program ? launch_sizes(source, *program, scheduled.shape) : std::vector<NamedExtent>();
    } catch (const std::exception &) { // it supports one shape only
      return {};
    }
  };
  auto known = named([&] { return find_workload(source.name, shape, scheduled.dtype); });
  return known.empty()
             ? named([&] { return schedule_of(scheduled.choice, shape, scheduled.dtype, target).source(); })
             : known;
}

EmitInfo info_of(const Scheduled &scheduled, Arch arch) {
  EmitInfo info;
  std::string form =
      scheduled.variant ? fmt::format(" ({}: {})", scheduled.variant->name, scheduled.variant->why) : "";
  if (scheduled.use)
    form += fmt::format(" ({})", short_text(*scheduled.use));
  info.title = fmt::format("{}{}: {}", scheduled.choice.name, form, scheduled.choice.summary);
  info.target = to_string(arch);
  info.trace = split_lines(trace_to_cpp(scheduled.schedule));
  info.operations = operation_count(scheduled.source());
  return info;
}

SourceLines source_lines(const Schedule &schedule) {
  struct Kept {
    explicit Kept(const Schedule &s) : schedule(s), makers(schedule) {}
    Schedule schedule;
    Makers makers;
  };
  return [kept = std::make_shared<const Kept>(schedule)](const OriginPart &part) {
    return kept->makers.where(part);
  };
}

std::vector<std::string> resource_notes(const kernel::Plan &plan, Arch arch) {
  std::vector<std::string> notes;
  if (plan.kernels.size() > most_compiled)
    return {
        fmt::format("The {} kernels were not compiled, so their registers are unknown", plan.kernels.size())};
  std::string without;
  for (const cuda::Compiled &compiled : compile_if_possible(plan, arch, without)) {
    std::int64_t spilled = compiled.spill_stores + compiled.spill_loads;
    notes.push_back(fmt::format("{}{}: {} registers per thread, {}, {} bytes of shared memory per block",
                                plan.kernels.size() > 1 ? compiled.kernel_name + ", " : "",
                                to_string(compiled.arch), compiled.registers,
                                spilled == 0 ? "no spills" : fmt::format("{} bytes of spills", spilled),
                                compiled.shared_bytes));
  }
  return notes;
}

void check_name(const std::string &name, const kernel::Plan &plan) {
  if (std::string why = why_not_linked(name); !why.empty())
    throw UserError(ExitCode::usage,
                    fmt::format("--name '{}' cannot be the name of a kernel: {}; give another", name, why));
  auto refuse_same = [&](const std::string &what, const std::string &taken) {
    if (taken == name)
      throw UserError(
          ExitCode::usage,
          fmt::format("--name '{}' is the name of {} of the computation; give another", name, what));
  };
  for (const Buffer &array : plan.params)
    refuse_same("an array", array->name);
  for (const Var &scalar : plan.scalars)
    refuse_same("a scalar", scalar->name);
  for (const kernel::SizeParameter &size : plan.sizes)
    refuse_same("a size", size.size->name);
}

} // namespace nestsmith::cli
