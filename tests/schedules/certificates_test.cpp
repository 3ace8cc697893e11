/// Every barrier of every rung is there for a hazard, and says for which: without it the simulator reports
/// exactly that.

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
  // Several tiles of k, a tail, whole blocks and edges; rows of vectors, and rows that have none.
  std::vector<std::int64_t> tails =
      rung.variant ? std::vector<std::int64_t>{4, 1} : std::vector<std::int64_t>{1};
  for (std::int64_t more : test::sample(rung, tails, 1, others)) {
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

INSTANTIATE_SAMPLED(Certificates);

} // namespace
} // namespace nestsmith
