#include "tools/commands/emit_shapes.h"

#include "dsl/expr/error.h"
#include "runtime/check/stored_array.h"
#include "tools/commands/emit_info.h"
#include "tools/output/failure.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::cli {

namespace {

constexpr std::size_t most_shapes = 256;

[[noreturn]] void refuse(const std::string &message) { throw UserError(ExitCode::usage, message); }

/// The shapes of the records for one shape.
std::vector<Shape> shapes_of_table(const ChosenRung &choice, DType dtype, const Target &target) {
  if (!choice.table)
    refuse(fmt::format("'{}' has no table; list the shapes, or give --table FILE", choice.name));
  std::vector<Shape> shapes = shapes_in_table(choice, dtype, target, false);
  if (shapes.empty())
    refuse(fmt::format("{} has no record of {} with {} extents for one shape; list the shapes",
                       choice.table->where(), dtype_in(*choice.table, dtype), choice.default_shape.size()));
  return shapes;
}

std::vector<Shape> listed_shapes(const Context &context, const ChosenRung &choice, DType dtype,
                                 const Target &target) {
  if (context.arguments.has("shape"))
    refuse("--shapes lists the shapes of the kernels, so --shape has no effect; leave --shape out");
  if (context.arguments.has("symbolic"))
    refuse("--shapes also emits the symbolic kernel, for every other shape; leave --symbolic out");
  if (choice.fixed_shape)
    refuse(fmt::format("'{}' is a trace file, which contains the schedule for one shape, {}; --shapes needs a "
                       "rung, which has a schedule for every shape",
                       choice.name, to_text(choice.default_shape)));
  if (context.arguments.value("shapes") == "table")
    return shapes_of_table(choice, dtype, target);
  std::vector<Shape> shapes;
  std::vector<std::string> texts = context.arguments.list("shapes", "");
  if (texts.size() > most_shapes)
    refuse(fmt::format("option '--shapes' has {} shapes, expected at most {}, because each has a kernel of its "
                       "own; leave the others to the symbolic kernel",
                       texts.size(), most_shapes));
  for (const std::string &text : texts) {
    Shape shape = parse_listed_shape(text, choice.default_shape.size());
    if (std::ranges::find(shapes, shape) != shapes.end())
      refuse(fmt::format("option '--shapes' has the shape {} twice", to_text(shape)));
    shapes.push_back(shape);
  }
  return shapes;
}

/// A shape near `base` that is not listed and is within the limits. A listed shape if there is no other.
Shape other_shape(Shape base, const std::vector<Shape> &listed, const Size &limits) {
  std::int64_t unit = limits.multiple_of;
  for (std::int64_t &extent : base)
    extent = std::min((extent + unit - 1) / unit * unit, limits.max / unit * unit);
  base.stated = limits;
  for (std::int64_t n = 0; n <= static_cast<std::int64_t>(listed.size()); ++n)
    for (std::int64_t step : {n * unit, -n * unit}) {
      Shape shape = base;
      shape[0] += step;
      if (shape[0] >= limits.min && shape[0] <= limits.max && std::ranges::find(listed, shape) == listed.end())
        return shape;
    }
  return base;
}

/// The lowered schedule of a symbolic kernel, and the shapes to which it is near.
struct SymbolicKernel {
  Scheduled scheduled;
  kernel::Plan plan;
  std::vector<Shape> near;
};

/// None, with the reason, if the rung has no symbolic kernel. A value of --set does not apply if the schedule
/// does not have the knob: its form may differ from that of the shapes.
std::optional<SymbolicKernel> symbolic_kernel(const ChosenRung &rung, const KnobValues &given,
                                              const Shape &shape, DType dtype, const Target &target,
                                              std::string &reason) {
  std::optional<SymbolicKernel> kernel;
  auto build = [&] {
    Knobs knobs(given);
    ChosenKnobs chosen = chosen_knobs(rung, shape, dtype, target, knobs);
    if (chosen.schedule.source().sizes.empty())
      refuse("it declares no size; take its extents from Workload::size, as in w.size(\"M\")");
    Scheduled found = schedule_at(rung, shape, dtype, std::move(chosen));
    kernel::Plan plan = lower(found.schedule);
    kernel = {std::move(found), std::move(plan), {}};
  };
  reason = failure_of(build).message;
  return kernel;
}

/// The symbolic kernels: one, or for a rung with a table one for each different set of knobs. None, with the
/// reason, if the rung has no symbolic kernel.
std::vector<SymbolicKernel> symbolic_kernels(const ChosenRung &choice, const std::vector<Shape> &listed,
                                             DType dtype, const Target &target, const Size &limits,
                                             std::string &reason) {
  std::vector<Shape> near = shapes_in_table(choice, dtype, target, true);
  if (near.empty())
    near.push_back(listed.front());
  ChosenRung rung = choice;
  rung.given_knobs = false; // the form of a symbolic kernel may lack a knob
  std::vector<SymbolicKernel> found;
  for (const Shape &shape : near) {
    auto kernel =
        symbolic_kernel(rung, choice.knobs, other_shape(shape, listed, limits), dtype, target, reason);
    if (!kernel)
      continue;
    auto same = std::ranges::find_if(
        found, [&](const SymbolicKernel &known) { return known.scheduled.knobs == kernel->scheduled.knobs; });
    if (same == found.end())
      same = found.insert(found.end(), std::move(*kernel));
    same->near.push_back(shape);
  }
  return found;
}

/// "scalar: K % 4 = 3; as 512x512x512 on NVIDIA H200; bk=16".
std::string note_of(const Scheduled &scheduled) {
  std::vector<std::string> parts;
  if (scheduled.variant)
    parts.push_back(fmt::format("{}: {}", scheduled.variant->name, scheduled.variant->why));
  if (scheduled.use)
    parts.push_back(short_text(*scheduled.use));
  bool defaults = !scheduled.use && scheduled.choice.knobs.empty(); // which a heading does not name either
  if (!defaults && !scheduled.knobs.empty())
    parts.push_back(to_string(scheduled.knobs));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::vector<std::int64_t> values_of(const std::vector<NamedExtent> &sizes) {
  std::vector<std::int64_t> values;
  for (const NamedExtent &size : sizes)
    values.push_back(size.value);
  return values;
}

} // namespace

EmittedShapes emitted_shapes(const Context &context, const ChosenRung &choice, const Target &target,
                             const std::string &header) {
  Arch arch = target.arch;
  DType dtype = chosen_dtype(context, choice);
  std::vector<Shape> shapes = listed_shapes(context, choice, dtype, target);
  std::vector<Scheduled> listed;
  for (const Shape &shape : shapes) {
    Knobs knobs;
    listed.push_back(schedule_at(choice, shape, dtype, target, knobs));
  }
  Size limits{.multiple_of = given_multiple(context).value_or(1)};
  std::string why_not;
  auto symbolic =
      symbolic_kernels(choice, shapes, dtype, target, listed.front().shape.stated.value_or(limits), why_not);

  std::string name = context.arguments.value("name").value_or(listed.front().source().name);
  auto part_of = [&](const Scheduled &scheduled, kernel::Plan plan, const std::string &label) {
    ShapePlan part{to_text(scheduled.shape), note_of(scheduled), info_of(scheduled, arch), std::move(plan)};
    if (context.arguments.has("name"))
      check_name(name, part.plan);
    if (context.arguments.has("line-info"))
      part.info.source_lines = source_lines(scheduled.schedule);
    part.info.notes = resource_notes(kernel::renamed(part.plan, plan_name(name, label)), arch);
    return part;
  };
  std::vector<ShapePlan> plans;
  std::vector<CheckedLaunch> launches;
  std::vector<EmittedShape> described;
  for (const Scheduled &scheduled : listed) {
    ShapePlan part = part_of(scheduled, kernel::specialise(scheduled.plan()), to_text(scheduled.shape));
    part.info.sizes = sizes_of(scheduled, target);
    launches.push_back({part.shape, scheduled.source(), values_of(launcher_sizes(part.info, part.plan)),
                        part.info.operations});
    described.push_back({scheduled.shape, scheduled.variant, scheduled.knobs, scheduled.use});
    plans.push_back(std::move(part));
  }
  EmitInfo info;
  info.title = fmt::format("{}: {}", choice.name, choice.summary);
  info.target = to_string(arch);
  info.header = header;
  std::vector<ShapePlan> others;
  for (const auto &[scheduled, plan, near] : symbolic) {
    std::string label = symbolic.size() == 1 ? "" : symbolic_label(near.front());
    ShapePlan part = part_of(scheduled, plan, label);
    part.near.assign(near.begin(), near.end());
    launches.push_back({to_text(scheduled.shape), scheduled.source(),
                        sizes_for(scheduled.schedule.source(), scheduled.shape, 0), part.info.operations});
    others.push_back(std::move(part));
  }
  EmittedShapes result{Dispatch(name, info, std::move(plans), std::move(others)), std::move(described),
                       std::move(launches)};
  if (symbolic.empty())
    to_stderr(
        fmt::format("nestsmith: '{}' has no symbolic kernel, so {} refuses every shape that is not listed: {}",
                    choice.name, launcher_name(result.dispatch.interface()), why_not));
  warn_if_unbound(listed.front(), result.dispatch.interface());
  return result;
}

} // namespace nestsmith::cli
