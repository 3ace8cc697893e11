#include "tools/emit_shapes.h"

#include "dsl/error.h"
#include "runtime/check/stored_array.h"
#include "tools/emit_info.h"
#include "tools/failure.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

[[noreturn]] void refuse(const std::string &message) { throw UserError(ExitCode::usage, message); }

std::vector<Shape> listed_shapes(const Context &context, const Choice &choice) {
  if (context.arguments.has("shape"))
    refuse("--shapes lists the shapes of the kernels, so --shape has no effect; leave --shape out");
  if (context.arguments.has("symbolic"))
    refuse("--shapes also emits the symbolic kernel, for every other shape; leave --symbolic out");
  if (choice.fixed_shape)
    refuse(fmt::format("'{}' is a trace file, which contains the schedule for one shape, {}; --shapes needs a "
                       "rung, which has a schedule for every shape",
                       choice.name, to_text(choice.default_shape)));
  std::vector<Shape> shapes;
  for (const std::string &text : context.arguments.list("shapes", "")) {
    Shape shape = parse_listed_shape(text, choice.default_shape.size());
    if (std::ranges::find(shapes, shape) != shapes.end())
      refuse(fmt::format("option '--shapes' has the shape {} twice", to_text(shape)));
    shapes.push_back(shape);
  }
  return shapes;
}

/// A shape near the first one that is not listed and is within the limits. A listed shape if there is no other.
Shape other_shape(const std::vector<Shape> &listed, const Size &limits) {
  std::int64_t unit = limits.multiple_of;
  Shape base = listed.front();
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

/// The schedule of the symbolic kernel. None, with the reason, if the rung has no such schedule. A value of
/// --set does not apply if this schedule does not have the knob: its form may differ from that of the shapes.
std::optional<Scheduled> symbolic_schedule(const Choice &rung, const KnobValues &given, const Shape &shape,
                                           DType dtype, const Target &target, std::string &reason) {
  std::optional<Scheduled> scheduled;
  auto build = [&] {
    Knobs knobs(given), same = knobs;
    if (rung.build(shape, dtype, target, knobs).source().sizes.empty())
      refuse("it declares no size; take its extents from Workload::size, as in w.size(\"M\")");
    Scheduled found = schedule_at(rung, shape, dtype, target, same);
    lower(found.schedule);
    scheduled = std::move(found);
  };
  reason = failure_of(build).message;
  return scheduled;
}

/// "scalar: K % 4 = 3; bk=16".
std::string note_of(const Scheduled &scheduled) {
  std::string form =
      scheduled.variant ? fmt::format("{}: {}", scheduled.variant->name, scheduled.variant->why) : "";
  std::string knobs = to_string(scheduled.knobs);
  return form + (form.empty() || knobs.empty() ? "" : "; ") + knobs;
}

std::vector<std::int64_t> values_of(const std::vector<NamedExtent> &sizes) {
  std::vector<std::int64_t> values;
  for (const NamedExtent &size : sizes)
    values.push_back(size.value);
  return values;
}

} // namespace

EmittedShapes emitted_shapes(const Context &context, const Choice &choice, Arch arch,
                             const std::string &header) {
  std::vector<Shape> shapes = listed_shapes(context, choice);
  Target target = make_target(arch);
  DType dtype = chosen_dtype(context, choice);
  std::vector<Scheduled> listed;
  for (const Shape &shape : shapes) {
    Knobs knobs;
    listed.push_back(schedule_at(choice, shape, dtype, target, knobs));
  }
  Size limits{.multiple_of = given_multiple(context).value_or(1)};
  Shape other = other_shape(shapes, listed.front().shape.stated.value_or(limits));
  std::string why_not;
  Choice rung = choose_rung(context.rungs, choice.name);
  std::optional<Scheduled> symbolic = symbolic_schedule(rung, choice.knobs, other, dtype, target, why_not);

  std::string name = context.arguments.value("name").value_or(listed.front().source().name);
  auto part_of = [&](const Scheduled &scheduled, kernel::Plan plan) {
    ShapePlan part{to_text(scheduled.shape), note_of(scheduled), info_of(scheduled, arch), std::move(plan)};
    if (context.arguments.has("name"))
      check_name(name, part.plan);
    part.info.notes = resource_notes(
        kernel::renamed(part.plan, plan_name(name, part.plan.sizes.empty() ? part.shape : "")), arch);
    return part;
  };
  std::vector<ShapePlan> plans;
  std::vector<CheckedLaunch> launches;
  std::vector<EmittedShape> described;
  for (const Scheduled &scheduled : listed) {
    ShapePlan part = part_of(scheduled, kernel::specialise(scheduled.plan()));
    part.info.sizes = sizes_of(scheduled, target);
    launches.push_back({part.shape, scheduled.source(), values_of(launcher_sizes(part.info, part.plan)),
                        part.info.operations});
    described.push_back({scheduled.shape, scheduled.variant, scheduled.knobs});
    plans.push_back(std::move(part));
  }
  EmitInfo info;
  info.title = fmt::format("{}: {}", choice.name, choice.summary);
  info.target = to_string(arch);
  info.header = header;
  std::vector<ShapePlan> others;
  if (symbolic) {
    others.push_back(part_of(*symbolic, lower(symbolic->schedule)));
    launches.push_back({to_text(symbolic->shape), symbolic->source(),
                        sizes_for(symbolic->schedule.source(), symbolic->shape, 0),
                        others.front().info.operations});
  }
  EmittedShapes result{Dispatch(name, info, std::move(plans), std::move(others)), std::move(described),
                       std::move(launches)};
  if (!symbolic)
    say(fmt::format("nestsmith: '{}' has no symbolic kernel, so {} refuses every shape that is not listed: {}",
                    choice.name, launcher_name(result.dispatch.interface()), why_not));
  warn_if_unbound(listed.front(), result.dispatch.interface());
  return result;
}

} // namespace nestsmith::cli
