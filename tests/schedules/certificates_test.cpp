/// Every barrier of every rung is there for a hazard, and says for which: without it the simulator reports
/// exactly that.

#include "lowering/lower.h"
#include "schedules/rung.h"
#include "tests/runtime/sim/certificates.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

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
    Schedule schedule = rung.build(shape, rung.dtype(DType::u32), Target{});
    kernel::Plan plan = lower(schedule);
    if (plan.kernels.size() != 1)
      continue;
    int barriers = test::expect_certificates(schedule.source(), plan.only());
    EXPECT_EQ(barriers > 0, !plan.only().shared.empty());
    int waits = test::expect_wait_certificates(schedule.source(), plan.only());
    bool async = std::ranges::any_of(blocks_of(schedule.program().body), &Block::async);
    EXPECT_EQ(waits > 0, async);
    EXPECT_LE(async, rung.needs == Feature::cp_async);
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
