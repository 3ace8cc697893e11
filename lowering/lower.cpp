#include "lowering/lower.h"

#include "dsl/printer.h"
#include "dsl/verify.h"
#include "lowering/unit.h"
#include "lowering/verify_kernel.h"

#include <array>
#include <fmt/format.h>

namespace nestsmith {

namespace {

struct Pass {
  std::string_view name;
  void (*run)(Unit &);
};

/// The order, in which each nest goes through them. Up to `extract` the program keeps its sequential meaning,
/// and the interpreter can run it; from there the simulator can run the kernel once it is flat.
constexpr std::array passes = {
    Pass{"check_obligations", check_obligations},
    Pass{"lower_init", lower_init},
    Pass{"fill_tails", fill_tails},
    Pass{"extract", extract},
    Pass{"partition", kernel::partition},                   // so that each part gets just its own barriers
    Pass{"insert_barriers", kernel::insert_barriers},       // guards still stand right around their stores
    Pass{"place_declarations", kernel::place_declarations}, // so that equal guards compare equal below
    Pass{"hoist_guards", kernel::hoist_guards},
    Pass{"flatten", kernel::flatten},
    Pass{"vectorize", kernel::vectorize}, // on offsets, of which it proves that they are aligned
    Pass{"narrow_indices", kernel::narrow_indices},
    Pass{"split_branches", kernel::split_branches}, // last: until here a block is one store
};

std::string text_of(const Unit &unit) {
  return unit.extracted ? kernel::print(unit.kernel) : print(unit.program);
}

std::string text_of(const std::vector<Unit> &units) {
  std::string text;
  for (const Unit &unit : units)
    text += (text.empty() ? "" : "\n") + text_of(unit);
  return text;
}

void run(const Pass &pass, Unit &unit) {
  pass.run(unit);
  auto breach =
      unit.extracted ? kernel::find_breach(unit.kernel, &pass == &passes.back()) : find_breach(unit.program);
  if (breach)
    internal_error(fmt::format("after the pass {}: {}\n{}", pass.name, *breach, text_of(unit)));
}

} // namespace

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  for (const Pass &pass : passes)
    names.push_back(pass.name);
  return names;
}

kernel::Plan lower(const Schedule &schedule, const std::function<void(const PassRecord &)> &observe) {
  std::vector<Unit> units;
  for (Program &nest : split_nests(schedule.program()))
    units.push_back({schedule, std::move(nest), {}});
  std::string before = observe ? text_of(units) : "";
  for (const Pass &pass : passes) {
    for (Unit &unit : units)
      run(pass, unit);
    if (observe) {
      std::string after = text_of(units);
      observe({pass.name, after, after != before});
      before = std::move(after);
    }
  }
  const Program &program = schedule.program();
  kernel::Plan plan;
  plan.name = program.name;
  plan.params = program.params;
  for (const Var &size : program.sizes)
    plan.sizes.push_back({size, size});
  plan.scalars = program.scalars;
  for (const Buffer &buffer : temporaries(program))
    if (buffer->scope == Scope::global)
      plan.add_workspace(buffer);
  for (Unit &unit : units)
    plan.kernels.push_back(std::move(unit.kernel));
  return plan;
}

} // namespace nestsmith
