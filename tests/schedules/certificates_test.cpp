/// Every barrier of every rung is there for a hazard, and says for which: without it the simulator reports
/// exactly that.

#include "lowering/lower.h"
#include "runtime/check.h"
#include "runtime/sim/simulate.h"
#include "schedules/rung.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace nestsmith {
namespace {

using kernel::Hazard;

/// Every barrier but the n-th; n counts down to -1 where there is one.
kernel::Stmt without_barrier(const kernel::Stmt &stmt, int &n, kernel::Barrier &removed) {
  if (const auto *barrier = kernel::as<kernel::Barrier>(stmt); barrier && n-- == 0) {
    removed = *barrier;
    return kernel::make_seq({});
  }
  return kernel::map_children(stmt,
                              [&](const kernel::Stmt &child) { return without_barrier(child, n, removed); });
}

std::vector<Hazard> hazards_found(const Program &source, const kernel::Kernel &kernel) {
  Inputs inputs = make_inputs(source, CheckRun::ring, 1);
  std::vector<sim::Argument> arguments;
  for (Array &array : inputs.arrays)
    arguments.push_back({&array});
  std::vector<Hazard> found;
  for (const sim::Finding &finding :
       sim::run(kernel, arguments, inputs.scalars, {.max_findings = 100}).findings)
    if (finding.hazard)
      found.push_back(*finding.hazard);
  return found;
}

using Kinds = std::set<std::pair<std::string, std::string>>; ///< buffer, kind
Kinds kinds_of(const std::vector<Hazard> &hazards) {
  Kinds kinds;
  for (const Hazard &hazard : hazards)
    kinds.emplace(hazard.buffer, std::string(name(hazard.kind)));
  return kinds;
}

class Certificates : public testing::TestWithParam<const Rung *> {};

TEST_P(Certificates, AreWhatTheSimulatorReportsWithoutTheBarrier) {
  const Rung &rung = *GetParam();
  // Several tiles of k, a tail, whole blocks and edges; rows of vectors, and rows that have none.
  for (std::int64_t more : rung.variant ? std::vector<std::int64_t>{4, 1} : std::vector<std::int64_t>{1}) {
    Shape shape = rung.tile;
    for (std::int64_t &extent : shape)
      extent += more;
    if (rung.tile.size() == 3)
      shape[2] += 2 * rung.tile[2];
    Schedule schedule = rung.build(shape, DType::u32, Target{});
    kernel::Plan plan = lower(schedule);
    if (plan.kernels.size() != 1)
      continue;
    int n = 0;
    for (;; ++n) {
      kernel::Kernel changed = plan.only();
      kernel::Barrier removed;
      int left = n;
      changed.body = without_barrier(changed.body, left, removed);
      if (left >= 0)
        break;
      std::vector<Hazard> found = hazards_found(schedule.source(), changed);
      EXPECT_EQ(kinds_of(found), kinds_of(removed.hazards)) << removed.note;
      for (const Hazard &promised : removed.hazards)
        EXPECT_TRUE(std::any_of(found.begin(), found.end(),
                                [&](Hazard hazard) {
                                  if (hazard.reader.empty()) // into a vector, which is taken apart later
                                    hazard.reader = promised.reader;
                                  return hazard == promised;
                                }))
            << removed.note << "\n  promised: " << name(promised.kind) << " " << promised.buffer << " "
            << promised.reader << " " << promised.loop << " + " << promised.distance;
    }
    EXPECT_EQ(n > 0, !plan.only().shared.empty());
  }
}

std::vector<const Rung *> rungs() {
  std::vector<const Rung *> all;
  for (const Rung &rung : builtin_rungs())
    all.push_back(&rung);
  return all;
}
INSTANTIATE_TEST_SUITE_P(Rungs, Certificates, testing::ValuesIn(rungs()),
                         [](const auto &info) { return info.param->tutorial + "_" + info.param->name; });

} // namespace
} // namespace nestsmith
