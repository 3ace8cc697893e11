#pragma once
/// The emitted text against the simulator: the same launches on the same arrays, bit for bit.

#include "dsl/schedule/schedule.h"
#include "lowering/plan.h"

#include <string>
#include <vector>

namespace nestsmith {

/// A schedule, lowered, with values for its sizes where it has any.
struct Subject {
  std::string name;
  Schedule schedule;
  kernel::Plan plan;
};

/// What went otherwise, a sentence each: an array that differs, and what the simulator or the sanitizers found.
/// Every subject runs in ring mode, with beta = 0 and C poisoned where that switches off a read, and on
/// integers and random numbers where its results are floats; on the host with threads and blocks in both
/// orders.
std::vector<std::string> differences_on_host(const std::vector<Subject> &subjects);

} // namespace nestsmith
