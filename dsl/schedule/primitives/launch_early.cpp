#include "dsl/schedule/primitives/launch_early.h"

#include "dsl/hardware/target.h"
#include "dsl/schedule/primitives/edit.h"

#include <fmt/format.h>

namespace nestsmith {

constinit const Primitive primitives::launch_early = primitive<&Schedule::launch_early>("launch_early");

void Schedule::launch_early(Caller caller) {
  Edit edit(*this, caller, primitives::launch_early);
  if (std::string missing = why_not(Feature::griddepcontrol, target().arch); !missing.empty())
    edit.refuse("launch_early.feature",
                fmt::format("{}; choose another architecture, or leave out launch_early", missing));
  if (program().launches_early)
    edit.refuse("launch_early.once", "the kernels are started early already; state it once");
  Program next = edit.program();
  next.launches_early = true;
  edit.commit(std::move(next));
}

} // namespace nestsmith
