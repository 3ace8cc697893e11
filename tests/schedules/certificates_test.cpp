/// Every barrier of every rung must be needed for a hazard that it states. Without the barrier, the simulator
/// must report exactly this hazard.

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "runtime/check/sim_executor.h"
#include "runtime/check/stored_array.h"
#include "schedules/library/product.h"
#include "schedules/rung.h"
#include "schedules/workloads.h"
#include "tests/runtime/sim/certificates.h"
#include "tests/schedules/sample.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

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
    if (!plan.only().channels.empty()) // of roles: no barrier and no wait is left
      EXPECT_GT(test::expect_await_certificates(schedule.source(), plan.only()), 0);
    else if (waits)
      EXPECT_EQ(test::expect_wait_certificates(schedule.source(), plan.only()) > 0, async);
    else
      EXPECT_EQ(test::expect_certificates(schedule.source(), plan.only()) > 0, !plan.only().shared.empty());
  }
}

INSTANTIATE_SAMPLED(Certificates);

class FillsPastTheEnd : public testing::TestWithParam<bool> {};

/// The copies of a kernel for all sizes have no guard: those of iterations past the end fill tiles that nothing
/// reads, and must land before the kernel ends. If the last iteration has code of its own, it copies nothing,
/// and no barrier separates its steps.
TEST_P(FillsPastTheEnd, LandBeforeTheEnd) {
  const bool last_k = GetParam();
  Shape any = {64, 64, 64};
  any.stated = Size{.max = 1000};
  Schedule s(gemm(any, DType::f32), make_target("sm_80"));
  library::product(s, s.block("AB"),
                   {.warps = {1, 1},
                    .lanes = {4, 8},
                    .results = {4, 4},
                    .async = true,
                    .prefetch = false,
                    .fragments = true,
                    .joined = true,
                    .spread = true,
                    .last_k = last_k,
                    .k = 8,
                    .stages = 3,
                    .width = 1});
  ASSERT_TRUE(s.obligations().empty());
  kernel::Plan plan = lower(s);
  std::string text = cuda_kernel(plan.only());
  EXPECT_NE(text.find("wait_copies<0>();  // A_shared, B_shared: copied above, not in flight at the end"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("if (k_outer + 2 <"), std::string::npos) << text;
  const std::size_t loop = text.find("for (int k_outer = 0;"), steps = text.find("++k_inner", loop),
                    last = text.find("++k_inner", steps + 1);
  EXPECT_EQ(last != std::string::npos, last_k) << text;
  EXPECT_LT(steps, text.find("copy_async", loop)) << text;
  for (const char *not_in_last : {"copy_async", "wait_copies<1>", "__syncthreads"})
    EXPECT_EQ(last_k && text.find(not_in_last, last) != std::string::npos, false) << not_in_last << "\n"
                                                                                  << text;
  for (std::int64_t k : {1, 8, 9, 16, 24, 25, 40}) {
    const Shape shape = {21, 37, k};
    kernel::Plan launch = with_sizes(plan, sizes_for(s.source(), shape, 0));
    SimExecutor simulator;
    EXPECT_TRUE(check(s, launch, simulator).passed) << k;
    std::vector<std::int64_t> sizes(launch.values.begin(), launch.values.end());
    kernel::Kernel changed = specialise(plan.only(), sizes);
    int last = -1;
    kernel::walk(changed.body,
                 [&](const kernel::Stmt &stmt) { last += kernel::as<kernel::Wait>(stmt) ? 1 : 0; });
    kernel::Wait wait;
    const int relaxed = last_k ? 2 : 1; // the group of an iteration that copies nothing is empty
    changed.body = test::with_wait(changed.body, last, k == 8 ? relaxed : -1, wait); // or removed
    std::vector<std::string> found;
    for (const kernel::Hazard &hazard : test::hazards_found(gemm(shape, DType::f32), changed))
      found.push_back(fmt::format("{}: {}", hazard.buffer->name, name(hazard.kind)));
    EXPECT_EQ(wait.hazards.size(), 2U);
    EXPECT_THAT(found, testing::UnorderedElementsAre("A_shared: end after write", "B_shared: end after write"))
        << k;
  }
}

INSTANTIATE_TEST_SUITE_P(LastTileOfK, FillsPastTheEnd, testing::Values(false, true),
                         [](const auto &info) { return info.param ? "HasCodeOfItsOwn" : "IsInTheLoop"; });

} // namespace
} // namespace nestsmith
