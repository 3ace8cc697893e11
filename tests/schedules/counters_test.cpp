/// Compares three counts of every rung: without execution, during simulation, and of a sample of blocks.

#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "runtime/model/count.h"
#include "runtime/model/request_counter.h"
#include "schedules/rung.h"
#include "tests/runtime/model/equal_counters.h"
#include "tests/schedules/sample.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

std::vector<Scalar> scalars_of(const kernel::Plan &plan, const kernel::Kernel &kernel,
                               const std::vector<Scalar> &all) {
  std::vector<Scalar> result;
  for (std::size_t position : plan.scalar_arguments(kernel))
    result.push_back(all[position]);
  return result;
}

struct RungCounts : testing::TestWithParam<test::Part> {
  const Rung &rung() const { return *GetParam().rung; }
  std::vector<Shape> sampled(const std::vector<Shape> &all) const {
    return test::sample(rung(), all, 1, GetParam().others);
  }
  Shape shape(std::int64_t tiles, std::int64_t more) const {
    Shape result = rung().tile;
    if (result.size() == 5) // 6 tiles in each dimension are too many
      tiles = std::min<std::int64_t>(tiles, 2), more = std::min<std::int64_t>(more, 1);
    for (std::int64_t &extent : result)
      extent = extent * tiles + more;
    return result;
  }
};

TEST_P(RungCounts, AreCountedWithoutComputingAsWhileComputing) {
  for (const Shape &at : sampled({shape(1, 1), shape(2, 0), shape(1, 7)})) {
    Schedule schedule = rung().build(at, rung().dtype(), {});
    kernel::Plan plan = lower(schedule);
    Inputs inputs = make_inputs(schedule.step(0), CheckRun::integers, 1);
    model::RequestCounter counting(false);
    SimExecutor executor({.observer = &counting});
    ASSERT_TRUE(executor.run(plan, inputs.arrays, inputs.scalars).diagnostics.empty());
    ASSERT_EQ(counting.counters.size(), plan.kernels.size());
    for (std::size_t n = 0; n < plan.kernels.size(); ++n)
      model::expect_equal(model::count(plan.kernels[n], scalars_of(plan, plan.kernels[n], inputs.scalars)),
                          counting.counters[n]);
  }
}

TEST_P(RungCounts, AreCountedByAFewBlocksAsByAll) {
  for (const Shape &at : sampled({shape(6, 0), shape(6, 5)})) {
    Schedule schedule = rung().build(at, rung().dtype(), {});
    kernel::Plan plan = lower(schedule);
    Inputs inputs = make_inputs(schedule.step(0), CheckRun::integers, 1);
    for (const kernel::Kernel &kernel : plan.kernels) {
      std::vector<Scalar> scalars = scalars_of(plan, kernel, inputs.scalars);
      model::Counters all = model::count(kernel, scalars);
      if (all.blocks == 1)
        continue;
      model::Counters some = model::count(kernel, scalars, {.max_blocks = all.blocks - 1});
      EXPECT_TRUE(some.sampled());
      // If the rows are not a multiple of the threads, the blocks of a one-dimensional grid start anywhere in a
      // row.
      // The tile of a block of a convolution starts anywhere in an image.
      bool wraps = kernel.grid()[0] > 1 && at.size() > 1 && (kernel.grid()[1] == 1 || at.size() == 5);
      if (some.estimated)
        EXPECT_TRUE(wraps) << "only such a grid is estimated";
      else
        // Each block of a softmax or a norm has rows of its own, which start anywhere in a line of 128 bytes. A
        // sample of fewer than 32 blocks lacks some of these positions. A block of a stencil that has one row
        // reads neighbours in more lines.
        model::expect_equal(some, all, true,
                            at.size() != 2                                        ? 0.001
                            : rung().tutorial == "stencil" && rung().tile[0] == 1 ? 0.06
                                                                                  : 0.01);
    }
  }
}

INSTANTIATE_SAMPLED(RungCounts);

} // namespace
} // namespace nestsmith
