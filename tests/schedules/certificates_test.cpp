/// Every barrier of every rung must be needed for a hazard that it states. Without the barrier, the simulator
/// must report exactly this hazard.

#include "lowering/lower.h"
#include "schedules/rung.h"
#include "tests/runtime/sim/certificates.h"
#include "tests/schedules/sample.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

class Certificates : public testing::TestWithParam<test::Part> {};

TEST_P(Certificates, AreWhatTheSimulatorReportsWithoutTheBarrier) {
  const auto &[rung_, others] = GetParam();
  const Rung &rung = *rung_;
  // There are several tiles of k, a tail, whole blocks and edges, and rows with and without vectors.
  std::vector<std::pair<std::int64_t, bool>> cases; // added to the tile; whether to check waits
  for (std::int64_t more : rung.variant ? std::vector<std::int64_t>{4, 1} : std::vector<std::int64_t>{1})
    for (bool waits : {false, true})
      cases.emplace_back(more, waits);
  for (auto [more, waits] : test::sample(rung, cases, 1, others)) {
    Shape shape = test::near_tile(rung, more);
    if (rung.tile.size() == 3) { // one block at an edge of M or of N, which the name of the rung chooses
      shape[2] += 2 * rung.tile[2];
      shape[test::seed_of(rung) % 2] -= more;
    }
    Schedule schedule = rung.build(shape, rung.dtype(DType::u32), Target{});
    kernel::Plan plan = lower(schedule);
    if (plan.kernels.size() != 1)
      continue;
    bool async = std::ranges::any_of(blocks_of(schedule.program().body), &Block::async);
    EXPECT_LE(async, rung.needs == Feature::cp_async);
    if (waits)
      EXPECT_EQ(test::expect_wait_certificates(schedule.source(), plan.only()) > 0, async);
    else
      EXPECT_EQ(test::expect_certificates(schedule.source(), plan.only()) > 0, !plan.only().shared.empty());
  }
}

INSTANTIATE_SAMPLED(Certificates);

} // namespace
} // namespace nestsmith
