#include "dsl/ir/printer.h"
#include "dsl/schedule/trace.h"
#include "lowering/unit.h"

namespace nestsmith {

/// An obligation of the schedule applies to all of its nests.
void check_obligations(Unit &unit) {
  const std::vector<Obligation> owed = unit.schedule.obligations();
  if (owed.empty())
    return;
  const Obligation &first = owed.front();
  std::string by = first.directive == 0 ? "the computation " + unit.schedule.program().name
                                        : to_cpp(unit.schedule.trace()[first.directive - 1], "");
  throw ScheduleError("", by, first.message, print_marked(unit.schedule.program(), {first.culprit}));
}

} // namespace nestsmith
