/// Compares the contents of the pictures of data (owners, time lines and costs) with the objects that the
/// commands print.

#include "lowering/lower.h"
#include "runtime/model/analyse.h"
#include "runtime/model/count.h"
#include "schedules/rung.h"
#include "tests/pages/row_sums.h"
#include "tools/pages/ownership.h"
#include "tools/pages/pipeline_line.h"

#include <gmock/gmock.h>
#include <llvm/Support/FormatVariadic.h>

namespace nestsmith {
namespace {

using namespace cli::report;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

struct Scheduling {
  Schedule schedule;
  KernelAnalysis kernel;

  FirstBlock block() const { return first_block(kernel, schedule.program()); }
  PipelineLine line() const { return pipeline_lines(kernel.kernel, schedule.program()).at(0); }
};

Scheduling scheduled(const Schedule &schedule) {
  KernelAnalysis kernel;
  kernel.kernel = lower(schedule).only();
  kernel.counters = model::count(kernel.kernel, ones(kernel.kernel), {.max_blocks = 1});
  return {schedule, kernel};
}

Scheduling scheduled(const std::string &name, const std::string &set = "", const Target &target = {},
                     const Shape &shape = {256, 256, 256}) {
  Knobs knobs(set.empty() ? KnobValues() : parse_knobs(set));
  for (const Rung &rung : builtin_rungs())
    if (rung.full_name() == name)
      return scheduled(rung.build(shape, rung.dtype(), target, knobs));
  throw std::runtime_error("no rung " + name);
}

const OwnerGrid &grid(const FirstBlock &block, std::string_view name) {
  return *std::ranges::find(block.grids, name, &OwnerGrid::name);
}

TEST(Owners, OneThreadForEachElement) {
  FirstBlock block = scheduled("deep_dive/coalesced").block();
  const OwnerGrid &c = grid(block, "C");
  EXPECT_EQ(c.rows * c.columns, block.threads);
  std::vector<std::int64_t> threads;
  for (std::int64_t thread = 0; thread < block.threads; ++thread)
    threads.push_back(thread);
  EXPECT_EQ(c.owners, threads) << "a warp walks along a row";
}

/// The index of C that the kernel stores is i = 64*… + tid/64*16 + tid/8%4*4 + …, j = 64*… + tid/32%2*32 +
/// tid%8*4 + ….
TEST(Owners, TilesOfAThreadInC) {
  FirstBlock block = scheduled("ladder/async", "bk=8,stages=3").block();
  const OwnerGrid &c = grid(block, "C");
  ASSERT_THAT(c.owners, SizeIs(128 * 128));
  for (std::int64_t i = 0; i < 128; ++i)
    for (std::int64_t j = 0; j < 128; ++j)
      EXPECT_EQ(c.owner(i, j), i % 64 / 16 * 64 + j % 64 / 32 * 32 + i % 16 / 4 * 8 + j % 32 / 4)
          << i << ", " << j;
}

/// Rows of 132 elements hold 128 elements of data.
TEST(Owners, PaddingBelongsToNobody) {
  FirstBlock block = scheduled("ladder/async", "bk=8,stages=3").block();
  const OwnerGrid &a = grid(block, "A_shared");
  EXPECT_EQ(a.scope, Scope::shared);
  EXPECT_EQ(a.columns, 132);
  EXPECT_EQ(a.rows, 8) << "one of three copies";
  for (std::int64_t k = 0; k < 8; ++k)
    for (std::int64_t i = 0; i < 132; ++i)
      EXPECT_EQ(a.owner(k, i), i < 128 ? i % 32 * 8 + k : -1) << "tid % 8 * 132 + … + tid / 8";
}

/// The accumulator of mma has the layout i, j -> lane i%8*4 + j%8//2, register i//16, j//8, i%16//8, j%2.
TEST(Owners, LanesAndRegistersOfAFragment) {
  Scheduling mma = scheduled("tensor/mma");
  FirstBlock block = mma.block();
  const OwnerGrid &ab = grid(block, "AB");
  EXPECT_EQ(ab.scope, Scope::warp);
  for (std::int64_t i = 0; i < ab.rows; ++i)
    for (std::int64_t j = 0; j < std::min<std::int64_t>(ab.columns, 8); ++j) {
      EXPECT_EQ(ab.owner(i, j), i % 8 * 4 + j / 2);
      EXPECT_EQ(ab.registers[static_cast<std::size_t>(i * ab.columns + j)], i / 8 * 2 + j % 2);
    }
}

TEST(Owners, EveryLaneOfAFragmentWithCopies) {
  FirstBlock block = scheduled(test::row_sums(8, 64, DType::f32)).block();
  const OwnerGrid &sums = grid(block, "Y_warp");
  EXPECT_EQ(sums.owners, std::vector<std::int64_t>{0});
  ASSERT_THAT(sums.replicas, SizeIs(31));
  EXPECT_EQ(sums.replicas.back(), 31);
  EXPECT_THAT(grid(block, "X_warp").replicas, testing::IsEmpty());
}

/// The requests must be those of `explain --heatmap`.
TEST(Owners, TheFirstRequestOfEachAccess) {
  Scheduling shared = scheduled("principles/transposed");
  FirstBlock block = shared.block();
  ASSERT_THAT(block.requests, SizeIs(shared.kernel.counters.accesses.size()));
  for (std::size_t n = 0; n < block.requests.size(); ++n) {
    auto expected = model::first_request(shared.kernel.kernel, ones(shared.kernel.kernel), n);
    ASSERT_EQ(block.requests[n].has_value(), expected.has_value());
    if (expected) {
      EXPECT_EQ(block.requests[n]->mask, expected->mask);
      EXPECT_EQ(block.requests[n]->address, expected->address);
    }
  }
}

TEST(Owners, EqualRowsAreStoredOnce) {
  EXPECT_EQ(llvm::formatv("{0}", packed({0, 0, 1, 4, 4, 5, -1, 2, 2}, 3)).str(),
            R"({"rows":[0,0,0,4,1,2],"shapes":[[0,2,1,1],[null,1,0,2]]})");
}

TEST(Owners, RectanglesCoverAGroup) {
  OwnerGrid grid{.rows = 2, .columns = 3, .owners = {0, 0, 1, 0, 0, -1}};
  auto found = groups(grid, [](std::int64_t owner) { return owner; });
  ASSERT_THAT(found[0], SizeIs(1));
  EXPECT_EQ(found[0][0].rows * found[0][0].columns, 4);
  ASSERT_THAT(found[1], SizeIs(1));
  EXPECT_THAT(found, SizeIs(2));
}

/// Returns the iterations of a row. "…" replaces omitted steps, and "|" ends a step.
std::string row(const PipelineLine &line, std::size_t number) {
  std::string text;
  for (const LineStep &step : line.steps) {
    text += step.phase == LineStep::Phase::skipped ? " …" : "";
    for (std::size_t n = step.begin; n < step.end; ++n)
      if (!line.events[n].sync && line.events[n].row == number)
        text += " " + line.events[n].iteration;
    text += " |";
  }
  return text;
}

TEST(TimeLine, ThePrologueRunsAheadAndTheDrainIssuesNoCopies) {
  PipelineLine line = scheduled("ladder/async", "bk=8,stages=3").line();
  ASSERT_THAT(line.rows, SizeIs(3));
  EXPECT_EQ(row(line, 0), " 0 1 | 2 | 3 | 4 | … | 31 | | |");
  EXPECT_EQ(row(line, 1), row(line, 0));
  EXPECT_EQ(row(line, 2), " | 0 | 1 | 2 | … | 29 | 30 | 31 |");
  EXPECT_EQ(line.steps.back().phase, LineStep::Phase::drain);
  EXPECT_EQ(line.steps[1].phase, LineStep::Phase::steady);
}

/// "wait for copies, 1 pending": the copies of a step arrive two waits later.
TEST(TimeLine, CopiesArriveAtTheWaitForTheirGroup) {
  PipelineLine line = scheduled("ladder/async", "bk=8,stages=3").line();
  const LineEvent &first = line.events[line.steps[0].begin];
  ASSERT_TRUE(first.async);
  ASSERT_TRUE(first.arrives);
  EXPECT_EQ(*first.arrives, line.steps[1].begin) << "the wait of the first iteration";
  EXPECT_TRUE(line.syncs[*line.events[*first.arrives].sync].wait);
}

TEST(TimeLine, ABarrierHasItsHazards) {
  PipelineLine line = scheduled("ladder/async", "bk=8,stages=3").line();
  ASSERT_THAT(line.syncs, SizeIs(2));
  EXPECT_EQ(line.syncs[0].name, "W1");
  EXPECT_EQ(line.syncs[1].name, "B1");
  EXPECT_THAT(line.syncs[1].hazards,
              testing::Contains(
                  "write after read of A_shared, which A_shared_local reads, 1 iteration of k_outer later"));
  EXPECT_THAT(line.syncs[1].rows, ElementsAre(0, 1, 2));
}

/// Four slots: three fills run ahead of the first use, and each free slot lets the next one go. The calls of an
/// iteration run on in the next one, so the slot of iteration 0 is free in iteration 1.
TEST(TimeLine, ARoleFillsAsFarAheadAsSlotsAreFree) {
  for (const char *name : {"hopper/tma", "hopper/cluster"}) {
    SCOPED_TRACE(name);
    PipelineLine line = scheduled(name, "stages=4", make_target("sm_90a"), {256, 256, 640}).line();
    ASSERT_THAT(line.rows, SizeIs(3));
    EXPECT_TRUE(line.has_roles());
    std::map<std::string, std::size_t> of;
    for (std::size_t n = 0; n < line.rows.size(); ++n)
      of[line.rows[n].blocks.front()] = n;
    EXPECT_EQ(line.rows[of.at("AB")].role, 0U);
    EXPECT_EQ(line.rows[of.at("A_shared")].role, 1U);
    EXPECT_EQ(row(line, of.at("A_shared")), " 0 1 2 3 | | 4 | 5 | … | | | |");
    EXPECT_EQ(row(line, of.at("B_shared")), row(line, of.at("A_shared")));
    EXPECT_EQ(row(line, of.at("AB")), " | 0 | 1 | 2 | … | 7 | 8 | 9 |");
    EXPECT_EQ(line.steps[1].phase, LineStep::Phase::steady);
    EXPECT_EQ(line.steps.back().phase, LineStep::Phase::drain);
    // The copies of the first fill arrive at the await of the first use.
    const LineEvent &first = *std::ranges::find_if(line.events, [](const LineEvent &x) { return x.async; });
    ASSERT_TRUE(first.arrives);
    EXPECT_EQ(*first.arrives, line.steps[1].begin);
    EXPECT_THAT(line.syncs[*line.events[*first.arrives].sync].hazards,
                testing::Contains("read after write of A_shared, which AB reads, in the same iteration"));
  }
}

TEST(TimeLine, InnerStepsOfAJoinedLoop) {
  PipelineLine line = scheduled("tensor/joined").line();
  ASSERT_THAT(line.rows, SizeIs(5));
  EXPECT_EQ(line.rows[2].inner, 0);
  EXPECT_EQ(line.rows[4].inner, 1);
  EXPECT_EQ(row(line, 2), " 0.0 | 0.1 1.0 | 1.1 2.0 | 2.1 3.0 | … | 5.1 6.0 | 6.1 7.0 | 7.1 |");
  EXPECT_EQ(row(line, 4), " | 0.0 0.1 | 1.0 1.1 | 2.0 2.1 | … | 5.0 5.1 | 6.0 6.1 | 7.0 7.1 |");
}

/// Returns `fast/gemm` with copies that are distributed over the first 15 steps of k.
Scheduling spread(const std::string &last_k, const std::string &bk = "16") {
  for (const Rung &rung : builtin_rungs())
    if (rung.full_name() == "fast/gemm") {
      Knobs knobs({{"async", "true"},
                   {"bk", bk},
                   {"fragments", "true"},
                   {"joined", "true"},
                   {"results", "4x8"},
                   {"warps", "4x1"},
                   {"spread", "true"},
                   {"copy_steps", "0"},
                   {"last_k", last_k}});
      return scheduled(rung.build({256, 256, 256}, rung.dtype(), Target{}, knobs));
    }
  throw std::runtime_error("no rung fast/gemm");
}

TEST(TimeLine, StepsOfASpreadLoop) {
  PipelineLine line = spread("false").line();
  ASSERT_THAT(line.rows, SizeIs(5)) << "loads of A and B, copies of A and B, products";
  EXPECT_EQ(line.rows[2].blocks, std::vector<std::string>{"A_shared"});
  EXPECT_EQ(line.rows[2].parts, 8);
  EXPECT_EQ(line.rows[3].parts, 2);
  EXPECT_THAT(row(line, 2), testing::StartsWith(" 0 1 | 2[0] 2[1] 2[2] 2[3] 2[4] 2[5] 2[6] 2[7] | 3[0] 3[1] "));
  EXPECT_EQ(row(line, 3), " 0 1 | 2[0] 2[1] | 3[0] 3[1] | 4[0] 4[1] | … | 15[0] 15[1] | | |");
  EXPECT_THAT(row(line, 0), testing::StartsWith(" 0.0 | 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 0.10 "));
  EXPECT_THAT(row(line, 4), testing::EndsWith(" 15.14 15.15 |"));

  // The second part of B is in step 7, after the load of k + 1 and before the product of k.
  const LineStep &first = line.steps[1];
  auto part =
      std::ranges::find_if(line.events.begin() + static_cast<std::ptrdiff_t>(first.begin), line.events.end(),
                           [](const LineEvent &event) { return event.iteration == "2[1]" && event.row == 3; });
  ASSERT_NE(part, line.events.end());
  EXPECT_EQ((part - 2)->iteration, "0.8");
  EXPECT_EQ((part + 1)->iteration, "0.7");
  EXPECT_TRUE(part->async);
  EXPECT_TRUE(part->arrives.has_value()) << "at the wait for iteration 2";
}

/// If there are more parts than steps, a step executes several parts.
TEST(TimeLine, PartsOfASpreadLoopInOneStep) {
  EXPECT_THAT(row(spread("false", "8").line(), 2), testing::StartsWith(" 0 1 | 2[0] 2[1] 2[2] 2[3] | 3[0]"));
  PipelineLine line = spread("false", "32").line();
  EXPECT_EQ(line.rows[2].parts, 16);
  EXPECT_THAT(row(line, 2), testing::StartsWith(" 0 1 | 2[0] 2[1] "));
}

/// `partition` writes a second loop, without copies, for the last iterations. The time line must contain all
/// iterations.
TEST(TimeLine, OfAPartitionedLoopHasAllIterations) {
  PipelineLine whole = spread("false").line(), parts = spread("true").line();
  for (std::size_t n = 0; n < whole.rows.size(); ++n)
    EXPECT_EQ(row(parts, n), row(whole, n));
  EXPECT_EQ(parts.extent, 16);
  EXPECT_EQ(parts.steps.back().phase, LineStep::Phase::drain);
}

/// A loop with barriers and without a pipeline has a time line without stages.
TEST(TimeLine, OfALoopThatIsNotPipelined) {
  PipelineLine line = scheduled("deep_dive/shared").line();
  EXPECT_FALSE(line.pipelined);
  EXPECT_EQ(row(line, 2), " 0 | 1 | 2 | … | 6 | 7 |");
  EXPECT_THAT(line.syncs, SizeIs(2));
}

TEST(TimeLine, NoneWithoutALoopWithBarriers) {
  Scheduling naive = scheduled("deep_dive/naive");
  EXPECT_THAT(pipeline_lines(naive.kernel.kernel, naive.schedule.program()), testing::IsEmpty());
}

} // namespace
} // namespace nestsmith
