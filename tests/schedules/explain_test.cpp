/// What is said of a schedule, known or never seen, follows from its figures.

#include "dsl/error.h"
#include "dsl/tensor.h"
#include "lowering/lower.h"
#include "runtime/lessons/figures/measure.h"
#include "runtime/model/explain.h"
#include "schedules/workloads.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using figure::analyse_rung;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const Shape cube = {256, 256, 256};

PlanAnalysis on(const char *rung, const char *gpu = "A100", const Shape &shape = cube) {
  return analyse_rung(rung, shape, find_gpu(gpu));
}

PlanAnalysis analysed(const Schedule &schedule, const Gpu &gpu) {
  return analyse(schedule.source(), lower(schedule), gpu, {});
}

TEST(Explain, SaysBetterBecauseOfSectors) {
  std::string words = in_words(on("deep_dive/naive"), "deep_dive/naive", on("deep_dive/coalesced"));
  EXPECT_THAT(words, StartsWith("Better than deep_dive/naive, because L2, which limited it, takes "));
  EXPECT_THAT(words, HasSubstr("a request takes 2.51 sectors instead of 16.6"));
  EXPECT_THAT(words, HasSubstr("reading A: 1 instead of 32, reading B: 4 instead of 1"));
  EXPECT_THAT(words, HasSubstr("DRAM moves as many bytes as before, 1.05 MB: it is not the reason"));
}

TEST(Explain, SaysWorseBecauseOfBankConflicts) {
  std::string words = in_words(on("principles/tile32"), "principles/tile32", on("principles/transposed"));
  EXPECT_THAT(words,
              StartsWith("Worse than principles/tile32, because shared memory, which limits it, takes "));
  EXPECT_THAT(words, HasSubstr("reading B_shared: 32 instead of 1, storing B_shared: 32 instead of 1"));
  EXPECT_THAT(words, HasSubstr(" times more."));
}

TEST(Explain, SaysNoGainAndWhatDidNotMatter) {
  PlanAnalysis padded = on("principles/padded"), swizzled = on("principles/swizzled");
  EXPECT_EQ(outcome(padded, swizzled), Outcome::same);
  EXPECT_THAT(in_words(padded, "principles/padded", swizzled),
              StartsWith("No gain over principles/padded, because shared memory limits both"));
}

TEST(Explain, SaysWhichLimiterMovedAndWhatIsUsedAgain) {
  PlanAnalysis before = on("deep_dive/coalesced", "RTX A500"), after = on("deep_dive/shared", "RTX A500");
  std::string words = in_words(before, "deep_dive/coalesced", after);
  EXPECT_EQ(after.limiter(), Resource::shared);
  EXPECT_THAT(words,
              HasSubstr(fmt::format("The limiter moves from {} to shared memory", name(before.limiter()))));
  EXPECT_THAT(words, HasSubstr("multiply-adds instead of 0.5"));
}

/// A product of the user's own with a mistake that no rung has: neighbouring lanes take rows of C.
Schedule never_seen(bool lanes_along_rows) {
  Workload w("product");
  Tensor X = w.placeholder("X", {128, 64}, DType::f32), W = w.placeholder("W", {64, 128}, DType::f32);
  Reduce k = reduce_axis("k", 64);
  Tensor Y = w.compute("Y", {128, 128}, {"i", "j"}, [&](Expr i, Expr j) { return sum(X(i, k) * W(k, j), k); });
  Schedule s(w.output({Y}));
  auto sum_block = s.block("Y");
  auto writeback = s.cache_write(sum_block, Scope::local);
  auto [i, j, sum_loop] = s.loops<3>(sum_block);
  auto [i_block, i_thread] = s.split(i, {infer, 32});
  auto [j_block, j_thread] = s.split(j, {infer, 32});
  s.reorder({i_block, j_block, i_thread, j_thread, sum_loop});
  s.reverse_compute_at(writeback, j_thread);
  s.bind(i_block, Axis::block_y);
  s.bind(j_block, Axis::block_x);
  s.bind(i_thread, lanes_along_rows ? Axis::thread_y : Axis::thread_x);
  s.bind(j_thread, lanes_along_rows ? Axis::thread_x : Axis::thread_y);
  return s;
}

TEST(Explain, WorksOnASchedulesItHasNeverSeen) {
  const Gpu &gpu = find_gpu("H200");
  PlanAnalysis right = analysed(never_seen(true), gpu), wrong = analysed(never_seen(false), gpu);
  std::string words = in_words(right, "mine", wrong);
  EXPECT_THAT(words, StartsWith("Worse than mine, because L1, which limits it, takes "));
  EXPECT_THAT(words, HasSubstr("reading X: 32 instead of 1, storing Y: 32 instead of 4"));
  EXPECT_THAT(in_words(wrong, "mine", right), StartsWith("Better than mine, because L1"));
  EXPECT_THAT(in_words(wrong), HasSubstr("To improve: let neighbouring lanes read neighbouring elements."));
}

std::string facts_of(const PlanAnalysis &analysis) {
  std::string text;
  for (const Section &section : sections(analysis.kernels[0], analysis))
    for (const Fact &fact : section.facts)
      text += fact.label + ": " + fact.value + "\n";
  return text;
}

TEST(Explain, SectionsAreThoseOfAProfiler) {
  PlanAnalysis analysis = on("principles/tile64");
  std::vector<std::string> titles;
  for (const Section &section : sections(analysis.kernels[0], analysis))
    titles.push_back(section.title);
  EXPECT_THAT(titles, testing::ElementsAre("GPU Speed Of Light", "Memory Workload Analysis", "Occupancy",
                                           "Launch Statistics"));
  std::string text = facts_of(analysis);
  EXPECT_THAT(text, HasSubstr("Shared memory per block: 32768 bytes"));
  EXPECT_THAT(text, HasSubstr("Block: 256 threads"));
  EXPECT_THAT(text, HasSubstr("Grid: 4 x 4 = 16 blocks"));
}

TEST(Explain, OfOneIsTheSingular) {
  PlanAnalysis analysis = on("deep_dive/shared", "A100", {32, 32, 32});
  std::string text = facts_of(analysis);
  EXPECT_THAT(text, HasSubstr("Grid: 1 block\n"));
  EXPECT_THAT(text, HasSubstr("Busiest SM: 1 block, 108 times the mean"));
  EXPECT_THAT(text, HasSubstr(" of 1 wavefront;"));
  EXPECT_THAT(in_words(analysis), HasSubstr("The grid of 1 block does not fill 108 SMs"));
  for (const char *noun : {"block", "sector", "wavefront", "request"})
    EXPECT_THAT(text, Not(testing::ContainsRegex(fmt::format("(^|[^.0-9])1 {}s", noun))));
}

TEST(Explain, SaysWhatIsNotKnown) {
  Schedule schedule = never_seen(true);
  PlanAnalysis analysis = analysed(schedule, find_gpu("A100"));
  ASSERT_FALSE(analysis.kernels[0].compiled.has_value());
  bool said = false;
  for (const Section &section : sections(analysis.kernels[0], analysis))
    for (const Fact &fact : section.facts)
      said |= fact.label == "Registers per thread" && fact.known == Known::unknown;
  EXPECT_TRUE(said);
}

TEST(Analysis, LinesAreThoseOfTheText) {
  Schedule schedule = never_seen(true);
  kernel::Plan plan = lower(schedule);
  PlanAnalysis analysis = analyse(schedule.source(), plan, find_gpu("A100"), {});
  const KernelAnalysis &kernel = analysis.kernels[0];
  std::string text = cuda_kernels(plan);
  for (std::size_t n = 0; n < kernel.counters.accesses.size(); ++n) {
    std::size_t at = 0;
    for (std::size_t line = 1; line < kernel.lines[n].number; ++line)
      at = text.find('\n', at) + 1;
    ASSERT_GT(kernel.lines[n].number, 0U);
    EXPECT_THAT(text.substr(at, text.find('\n', at) - at), HasSubstr(kernel.lines[n].text));
    EXPECT_THAT(kernel.lines[n].text, HasSubstr(kernel.counters.accesses[n].buffer->name + "["));
  }
}

TEST(Analysis, BoundsFollowFromTheCounts) {
  PlanAnalysis analysis = on("principles/one", "A100", {256, 256, 64});
  const KernelAnalysis &kernel = analysis.kernels[0];
  const Gpu &gpu = analysis.gpu;
  // 256 blocks of 16 x 16 threads on 108 SMs: three on the busiest. 8 warps, each with 64 multiply-adds, and
  // for alpha*AB + beta*C one more, a product, and whether beta is 0.
  EXPECT_EQ(kernel.waves.busiest, 3);
  EXPECT_EQ(kernel.bound(Resource::fp32).amount, 3.0 * 8 * 67 * 32 / gpu.fp32_lanes);
  EXPECT_EQ(kernel.bound(Resource::fp32).seconds, kernel.bound(Resource::fp32).amount / gpu.clock_hz);
  EXPECT_EQ(kernel.bound(Resource::shared).amount, 0);
  // Requests of A and B in the loop, of C twice; no barriers.
  EXPECT_EQ(kernel.bound(Resource::issue).amount, 3.0 * 8 * (2 * 64 + 2 + 67) / gpu.schedulers);
  EXPECT_EQ(kernel.bound(Resource::l1).amount, 3.0 * 8 * (2 * 64 + 2))
      << "a clock a request where sectors are few";
  for (std::size_t n = 1; n < kernel.bounds.size(); ++n)
    EXPECT_LE(kernel.bounds[n].seconds, kernel.bounds[n - 1].seconds);
}

/// The first steps of tvm_steps add to C in memory; the compiler keeps the sum in a register over the innermost
/// loop.
TEST(Analysis, SumsInMemoryAreTakenAsTheCompilerDoes) {
  PlanAnalysis step1 = on("tvm_steps/step1", "A100", {64, 64, 32});
  const KernelAnalysis &kernel = step1.kernels[0];
  EXPECT_THAT(kernel.sums_moved, testing::ElementsAre("C"));
  auto warps = 64U * 64 / 32;
  EXPECT_EQ(kernel.counters.total(Scope::global, true).requests, 2 * warps) << "0, and the sum";
  EXPECT_EQ(kernel.exact().total(Scope::global, true).requests, 33 * warps) << "0, and each step";
  for (const TextLine &line : kernel.lines)
    EXPECT_GT(line.number, 0U) << line.text;
  EXPECT_TRUE(on("principles/tile32", "A100", {64, 64, 32}).kernels[0].sums_moved.empty());
}

TEST(Analysis, RefusesWhatDoesNotFitTheGpu) {
  EXPECT_THAT([] { on("principles/fused", "RTX A500", {std::int64_t{1} << 30}); },
              testing::ThrowsMessage<UserError>(
                  HasSubstr("the arrays need 8 GiB, but NVIDIA RTX A500 Laptop GPU has 4")));
}

TEST(Analysis, SmallerTargetsAreGivenToTheRung) {
  EXPECT_EQ(target_of(find_gpu("RTX 3090")).shared_bytes_per_block, 99 * 1024);
  EXPECT_EQ(target_of(find_gpu("A100")).shared_bytes_per_block, 163 * 1024);
  EXPECT_EQ(to_string(target_of(find_gpu("H200")).arch), "sm_90a");
}

TEST(Analysis, OccupancyWithoutACalculatorKnowsAllButRegisters) {
  const Gpu &gpu = find_gpu("RTX 3090");
  EXPECT_EQ(occupancy_without_registers(gpu, {.threads = 1024}).blocks, 1);
  EXPECT_EQ(occupancy_without_registers(gpu, {.threads = 256}).blocks, 6);
  EXPECT_EQ(occupancy_without_registers(gpu, {.threads = 64, .static_shared = 8192}).blocks, 11);
  EXPECT_EQ(occupancy_without_registers(gpu, {.threads = 64, .static_shared = 4096}).blocks, 16);
}

} // namespace
} // namespace nestsmith
