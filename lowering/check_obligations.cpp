#include "dsl/schedule/trace.h"
#include "lowering/unit.h"

namespace nestsmith {

/// An obligation of the schedule applies to all of its nests.
void check_obligations(Unit &unit) {
  const std::vector<Obligation> owed = unit.schedule.obligations();
  if (!owed.empty())
    throw to_error(unit.schedule, owed.front());
}

} // namespace nestsmith
