#include "lowering/lower.h"

#include "dsl/expr/error.h"
#include "dsl/hardware/verify.h"
#include "dsl/ir/allocation.h"
#include "dsl/ir/printer.h"
#include "lowering/passes.h"
#include "lowering/verify_kernel.h"

#include <fmt/format.h>

namespace nestsmith {

/// Of one plan. The time of some checks grows with the square.
static constexpr std::size_t most_kernels = 1000;

/// The passes in execution order. Up to `extract` the program keeps its sequential meaning, and the interpreter
/// can execute it. The simulator can execute the kernel from `flatten` on.
const std::vector<Pass> &standard_passes() {
  static const std::vector<Pass> passes = {
      {"check_obligations", check_obligations, Form::program},
      {"lower_init", lower_init, Form::program},
      {"fill_tails", fill_tails, Form::program},
      {"extract", extract, Form::threads},
      {"partition", kernel::partition, Form::threads},                   // each part gets its own barriers
      {"insert_barriers", kernel::insert_barriers, Form::ordered},       // while guards directly enclose stores
      {"place_declarations", kernel::place_declarations, Form::ordered}, // makes equal guards comparable
      {"hoist_guards", kernel::hoist_guards, Form::ordered},
      {"flatten", kernel::flatten, Form::flat},
      {"vectorize", kernel::vectorize, Form::flat},           // proves alignment of offsets
      {"share_launches", kernel::share_launches, Form::flat}, // the passes until here know of one nest
      {"await_kernel", kernel::await_kernel, Form::flat},     // knows the kernels of the launch
      {"end_clusters", kernel::end_clusters, Form::flat},
      {"step_sources", kernel::step_sources, Form::flat}, // no pass after it simplifies sums
      {"narrow_indices", kernel::narrow_indices, Form::flat},
      {"split_branches", kernel::split_branches, Form::flat}, // late: until here, a block is one store
      {"share_values", kernel::share_values, Form::flat},     // last: before it, sharing costs nothing
  };
  return passes;
}

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  for (const Pass &pass : standard_passes())
    names.push_back(pass.name);
  return names;
}

Lowering::Lowering(const Schedule &schedule, std::vector<Pass> passes)
    : schedule_(schedule), passes_(std::move(passes)) {
  if (std::size_t nests = nests_of(schedule.program().body).size(); nests > most_kernels)
    throw UserError(
        ExitCode::illegal_schedule,
        fmt::format("the schedule has {} nests, and each nest is a kernel, expected at most {}; join "
                    "nests with compute_at, reverse_compute_at or compute_inline",
                    nests, most_kernels));
  for (Program &nest : split_nests(schedule.program())) {
    const auto *outermost = as<For>(nest.body);
    const bool shares_launch = outermost && outermost->shares_launch();
    units_.push_back({schedule, std::move(nest), shares_launch});
  }
  changed_.assign(units_.size(), true);
}

const Pass &Lowering::step() {
  const Pass &pass = passes_.at(next_++);
  if (const auto *over_all = std::get_if<std::function<void(std::vector<Unit> &)>>(&pass.run)) {
    (*over_all)(units_);
    changed_.assign(units_.size(), true); // of all units it is not known
    return pass;
  }
  for (std::size_t n = 0; n < units_.size(); ++n) {
    Unit &unit = units_[n];
    auto body = [&] {
      return std::visit([](const auto &nest) { return std::shared_ptr<const void>(nest.body); }, unit.nest);
    };
    const std::shared_ptr<const void> before = body();
    std::get<0>(pass.run)(unit);
    changed_[n] = body() != before;
  }
  return pass;
}

std::optional<std::string> Lowering::breach() const {
  for (std::size_t n = 0; n < units_.size(); ++n) {
    if (!changed_[n] && !done())
      continue;
    const Unit &unit = units_[n];
    if (auto breach =
            unit.extracted() ? kernel::find_breach(unit.kernel(), done()) : find_breach(unit.program()))
      return breach;
  }
  return std::nullopt;
}

std::string Lowering::text() const {
  std::string text;
  for (const Unit &unit : units_)
    text +=
        (text.empty() ? "" : "\n") + (unit.extracted() ? kernel::print(unit.kernel()) : print(unit.program()));
  return text;
}

Program Lowering::program() const {
  internal_check(form() == Form::program, "a kernel is asked for its program");
  Program all = schedule_.program();
  std::vector<Stmt> nests;
  for (const Unit &unit : units_)
    nests.push_back(unit.program().body);
  all.body = make_seq(std::move(nests));
  return all;
}

kernel::Plan Lowering::plan() const {
  internal_check(form() != Form::program, "a program is asked for its kernels");
  const Program &program = schedule_.program();
  kernel::Plan plan;
  plan.name = program.name;
  plan.params = program.params;
  for (const Var &size : program.sizes)
    plan.sizes.push_back({size, size});
  plan.scalars = program.scalars;
  for (const Unit &unit : units_)
    plan.kernels.push_back(unit.kernel());
  for (const kernel::Kernel &kernel : plan.kernels)
    for (const Buffer &counters : kernel::counters_of(kernel))
      plan.add_workspace(counters, true);
  for (const Buffer &buffer : temporaries(program))
    if (buffer->scope == Scope::global)
      for (const Buffer &array : is_tuple(buffer->dtype) ? part_buffers(*buffer) : std::vector{buffer})
        plan.add_workspace(array);
  return plan;
}

kernel::Plan lower(const Schedule &schedule, const std::function<void(const PassRecord &)> &observe) {
  Lowering lowering(schedule);
  std::string before = observe ? lowering.text() : "";
  while (!lowering.done()) {
    const Pass &pass = lowering.step();
    if (auto breach = lowering.breach())
      internal_error(fmt::format("after the pass {}: {}\n{}", pass.name, *breach, lowering.text()));
    if (observe) {
      std::string after = lowering.text();
      observe({pass.name, after, after != before});
      before = std::move(after);
    }
  }
  return lowering.plan();
}

} // namespace nestsmith
