#pragma once
/// Compares the emitted text with the simulator: the same launches on the same arrays must give the same bits.

#include "dsl/schedule/schedule.h"
#include "lowering/plan.h"

#include <string>
#include <vector>

namespace nestsmith {

/// A lowered schedule, and values for its sizes if it has any.
struct Subject {
  std::string name;
  Schedule schedule;
  kernel::Plan plan;
};

/// Returns one sentence for each difference: an array that differs, or a report of the simulator or of the
/// sanitizers. A subject with integer outputs runs in ring mode. A subject with floating-point outputs runs
/// with integers and with random numbers. If beta = 0 disables the read of C, the subject also runs with
/// beta = 0 and a poisoned C. If a result depends on the order of atomic operations, it runs with integers
/// only. On the host, threads and blocks run in both orders.
std::vector<std::string> differences_on_host(const std::vector<Subject> &subjects);

} // namespace nestsmith
