#include "tools/options/scheduled.h"

#include "dsl/expr/error.h"
#include "dsl/ir/specialise.h"
#include "dsl/ir/workload_info.h"
#include "runtime/check/stored_array.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace nestsmith::cli {

namespace {

/// The simulator executes about 10^8 of them in a second and for each of several runs.
constexpr double most_simulated = 1e10;

std::string stated_text(const Size &stated) {
  std::string text = stated.multiple_of > 1 ? fmt::format("a multiple of {}, ", stated.multiple_of) : "";
  return text + fmt::format("from {} to {}", stated.min, stated.max);
}

} // namespace

Shape fitting_shape(const Program &source, const Shape &shape) {
  Shape fitting = shape;
  for (std::size_t n = 0; n < std::min(shape.size(), source.sizes.size()); ++n) {
    const Size &stated = *source.sizes[n]->size;
    std::int64_t unit = stated.multiple_of;
    std::int64_t up = (std::max(shape[n], stated.min) + unit - 1) / unit * unit;
    fitting[n] = up <= stated.max ? up : stated.max / unit * unit;
  }
  return fitting;
}

void state_sizes(const std::string &name, const Program &source, Shape &shape) {
  auto refuse = [](const std::string &message) { throw UserError(ExitCode::usage, message); };
  if (source.sizes.empty()) {
    if (shape.stated)
      refuse(
          fmt::format("'{}' is built for one shape: it declares no size, so it has no kernel for every shape; "
                      "take its extents from Workload::size, as in w.size(\"M\"), or leave --symbolic out",
                      name));
    return;
  }
  std::vector<std::string> names;
  for (const Var &size : source.sizes)
    names.push_back(size->name);
  if (names.size() < shape.size())
    refuse(
        fmt::format("'{}' has {} extents in its shape {} and declares {} size{}, {}; declare a size for each "
                    "extent, in their order, or give the rung a default shape of {} extent{}",
                    name, shape.size(), to_text(shape), names.size(), names.size() == 1 ? "" : "s",
                    fmt::join(names, ", "), names.size(), names.size() == 1 ? "" : "s"));
  if (!shape.stated)
    shape.stated = *source.sizes.front()->size;
  for (std::size_t n = 0; n < shape.size(); ++n) {
    const Size &stated = *source.sizes[n]->size;
    if (shape[n] < stated.min || shape[n] > stated.max || shape[n] % stated.multiple_of != 0)
      refuse(fmt::format("the size {} of '{}' must be {}, but the shape {} has {}; give --shape, such as {}",
                         names[n], name, stated_text(stated), to_text(shape), shape[n],
                         to_text(fitting_shape(source, shape))));
  }
}

Scheduled schedule_choice(const Context &context, const ChosenRung &choice, const Target &target) {
  Knobs knobs;
  return schedule_choice(context, choice, target, knobs);
}

Scheduled schedule_choice(const Context &context, const ChosenRung &choice, const Target &target,
                          Knobs &knobs) {
  return schedule_at(choice, chosen_shape(context, choice), chosen_dtype(context, choice), target, knobs);
}

Scheduled schedule_at(const ChosenRung &choice, Shape shape, DType dtype, const Target &target, Knobs &knobs) {
  return schedule_at(choice, shape, dtype, chosen_knobs(choice, shape, dtype, target, knobs));
}

Scheduled schedule_at(const ChosenRung &choice, Shape shape, DType dtype, ChosenKnobs chosen) {
  state_sizes(choice.name, chosen.schedule.source(), shape);
  return {choice,
          shape,
          dtype,
          std::move(chosen.schedule),
          choice.variant ? choice.variant(shape, dtype) : std::nullopt,
          std::move(chosen.values),
          std::move(chosen.use)};
}

Program Scheduled::step(std::size_t n) const {
  const Program &program = schedule.step(n);
  return shape.stated ? specialise(program, sizes_for(schedule.source(), shape, 0)) : program;
}

kernel::Plan Scheduled::at_shape(kernel::Plan lowered, std::int64_t gap) const {
  return shape.stated ? with_sizes(lowered, sizes_for(schedule.source(), shape, gap)) : lowered;
}

std::string form_text(const Scheduled &scheduled) {
  std::string form = scheduled.variant ? scheduled.variant->name : "";
  if (!scheduled.use)
    return form;
  return form + (form.empty() ? "" : ", ") +
         (scheduled.use->record   ? "as " + scheduled.use->record->shape
          : scheduled.use->kernel ? "predicted"
                                  : "default knobs");
}

std::string dtype_name(const Program &source, DType asked) {
  std::vector<std::string> of_data;
  for (const Buffer &param : source.params) {
    if (param->dtype == asked || (asked == DType::tf32 && param->dtype == DType::f32))
      return std::string(name(asked));
    std::string own(name(param->dtype));
    if (std::ranges::find(of_data, own) == of_data.end())
      of_data.push_back(own);
  }
  return fmt::format("{}", fmt::join(of_data, ", "));
}

std::string title(const Scheduled &scheduled) {
  std::string form =
      scheduled.variant ? fmt::format("  {}: {}", scheduled.variant->name, scheduled.variant->why) : "";
  std::string knobs = to_string(scheduled.use ? scheduled.knobs : scheduled.choice.knobs);
  if (scheduled.use)
    knobs = fmt::format("{}: {}", short_text(*scheduled.use), knobs);
  return fmt::format("{}  {} {}{}{}{}", scheduled.choice.name,
                     dtype_name(scheduled.schedule.source(), scheduled.dtype), to_text(scheduled.shape),
                     scheduled.shape.stated ? " by one kernel for all shapes" : "", form,
                     knobs.empty() ? "" : "  " + knobs);
}

std::string unbound_warning(const std::string &name, const kernel::Plan &plan) {
  std::vector<std::string> unbound;
  for (const kernel::Kernel &kernel : plan.kernels) {
    bool loops = false; // a single store, such as the init of one sum, has nothing to share
    kernel::walk(kernel.body,
                 [&](const kernel::Stmt &stmt) { loops |= kernel::as<kernel::Loop>(stmt) != nullptr; });
    if (kernel.indices.empty() && loops)
      unbound.push_back(kernel.name);
  }
  if (unbound.empty())
    return "";
  bool all = unbound.size() == plan.kernels.size();
  return fmt::format(
      "warning: '{}' binds no loop{}, so one thread does all the work{}, <<<1, 1>>>; bind loops to "
      "blocks and threads, as in s.bind(i, Axis::block_x) and s.bind(j, Axis::thread_x)",
      name,
      all ? "" : fmt::format(" of the kernel{} {}", unbound.size() > 1 ? "s" : "", fmt::join(unbound, ", ")),
      all                  ? ""
      : unbound.size() > 1 ? " of each"
                           : " of it");
}

void warn_if_unbound(const Scheduled &scheduled, const kernel::Plan &plan) {
  if (std::string warning = unbound_warning(scheduled.choice.name, plan); !warning.empty())
    to_stderr("nestsmith: " + warning);
}

void check_work(const Program &source, const Shape &shape) {
  double instances = 0;
  for (const Block *block : blocks_of(source.body)) {
    double product = 1;
    for (const IterVar &iter : block->iters)
      product *= static_cast<double>(as_int(iter.extent).value_or(1));
    instances += product;
  }
  if (instances > most_simulated)
    throw UserError(
        ExitCode::usage,
        fmt::format("the simulator would execute {:.2g} instances of stages for the shape {}, expected "
                    "at most {:.0e}; use a smaller shape, or a GPU",
                    instances, to_text(shape), most_simulated));
}

void check_memory(const Program &source, const Shape &shape) {
  // Per element of a parameter: the input, a working copy, and the reference in fp64: value, magnitude and
  // error bound, all again for a temporary and for a product.
  constexpr double bytes_per_element = 96;
  double elements = 0;
  for (const Buffer &param : source.params) {
    double size = 1;
    for (std::int64_t extent : constant_shape(param))
      size *= static_cast<double>(extent);
    elements += size;
  }
  double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  double wanted = elements * bytes_per_element;
  if (wanted > memory)
    throw UserError(
        ExitCode::usage,
        fmt::format(
            "shape {} needs {:.4g} GiB to run and check, but this machine has {:.4g}; use a smaller shape",
            to_text(shape), wanted / 0x1p30, memory / 0x1p30));
}

} // namespace nestsmith::cli
