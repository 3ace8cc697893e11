/// Tests that the explanations of a schedule follow from its figures, for rungs and for other schedules.

#include "dsl/expr/error.h"
#include "dsl/ir/intrinsic.h"
#include "dsl/ir/tensor.h"
#include "lowering/lower.h"
#include "runtime/model/analyse.h"
#include "runtime/model/explain.h"
#include "runtime/model/words.h"
#include "schedules/workloads.h"
#include "tests/pages/facts.h"
#include "tools/pages/figures/measure.h"

#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <regex>
#include <set>

namespace nestsmith {
namespace {

using figure::analyse_rung;
using test::facts_of;
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

TEST(Explain, SaysBetterBecauseOfLines) {
  std::string words = in_words(on("deep_dive/naive"), "deep_dive/naive", on("deep_dive/coalesced"));
  EXPECT_THAT(words, StartsWith("Better than deep_dive/naive, because L1, which limited it, takes "));
  EXPECT_THAT(words, HasSubstr("a request takes 1 line instead of 16.6 (reading A: 1 instead of 32"));
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
  EXPECT_EQ(verdict_of(padded, swizzled).outcome, Outcome::same);
  std::string words = in_words(padded, "principles/padded", swizzled);
  EXPECT_THAT(words,
              StartsWith("No gain over principles/padded: the estimated time, with latency, barriers and "
                         "waves, "));
  EXPECT_THAT(words, HasSubstr(" for shared memory; latency, barriers and waves take the rest. Other figures "
                               "change: bytes of shared memory for each block 8192 instead of 8320."));
  for (PlanAnalysis *each : {&padded, &swizzled})
    each->kernels[0].estimated_seconds = 1.1 * each->seconds();
  EXPECT_THAT(in_words(padded, "principles/padded", swizzled),
              StartsWith("No gain over principles/padded, because shared memory limits both"));
  EXPECT_THAT(in_words(padded, "mine", padded), HasSubstr(" The counted figures are the same. The limiter is"));
}

TEST(Explain, TheEstimateDecidesIfItDoesNotFollowTheBound) {
  PlanAnalysis naive = on("deep_dive/naive"), coalesced = on("deep_dive/coalesced");
  naive.kernels[0].estimated_seconds = 2e-3;
  coalesced.kernels[0].estimated_seconds = 3e-3;
  EXPECT_THAT(
      in_words(naive, "deep_dive/naive", coalesced),
      AllOf(
          StartsWith("Worse than deep_dive/naive: the estimated time, with latency, barriers and waves, rises "
                     "from 2 ms to 3 ms. The least time alone does not show it: L1, which limited it, takes "),
          HasSubstr(" times less. The limiter")));
  coalesced.kernels[0].estimated_seconds = 1e-3;
  EXPECT_THAT(
      in_words(naive, "deep_dive/naive", coalesced),
      AllOf(StartsWith("Better than deep_dive/naive, because L1"),
            HasSubstr(" times less. By the estimate, with latency, barriers and waves, the time falls from 2 "
                      "ms to 1 ms. The limiter"),
            Not(HasSubstr("does not show it"))));
}

TEST(Explain, SaysThatTheEstimateChangesIfTheBoundDoesNot) {
  PlanAnalysis padded = on("principles/padded"), swizzled = on("principles/swizzled");
  padded.kernels[0].estimated_seconds = 3e-3;
  swizzled.kernels[0].estimated_seconds = 2e-3;
  EXPECT_EQ(verdict_of(padded, swizzled).outcome, Outcome::better);
  EXPECT_THAT(
      in_words(padded, "principles/padded", swizzled),
      StartsWith("Better than principles/padded: the estimated time, with latency, barriers and waves, falls "
                 "from 3 ms to 2 ms. The least time is the same, "));
  EXPECT_THAT(
      in_words(swizzled, "principles/swizzled", padded),
      StartsWith("Worse than principles/swizzled: the estimated time, with latency, barriers and waves, "
                 "rises from 2 ms to 3 ms. The least time is the same, "));
}

/// The plural nouns "Matrix units" and "issue slots" need a plural verb.
TEST(Explain, TheVerbAgreesWithTheLimiter) {
  PlanAnalysis tuned = on("tensor/tuned", "H200", {2048, 2048, 2048});
  tuned.kernels[0].estimated_seconds = tuned.seconds();
  EXPECT_THAT(in_words(tuned, "mine", tuned), StartsWith("No gain over mine, because matrix units limit both"));
}

TEST(Explain, SaysWhichLimiterMovedAndWhatIsUsedAgain) {
  PlanAnalysis before = on("deep_dive/coalesced", "RTX A500"), after = on("deep_dive/shared", "RTX A500");
  std::string words = in_words(before, "deep_dive/coalesced", after);
  EXPECT_EQ(after.limiter(), Resource::shared);
  EXPECT_THAT(words,
              HasSubstr(fmt::format("The limiter moves from {} to shared memory", name(before.limiter()))));
  EXPECT_THAT(words, HasSubstr("multiply-adds instead of 0.5"));
}

/// A product with a mistake that no rung has: adjacent lanes compute rows of C.
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
  EXPECT_THAT(words, HasSubstr("reading X: 32 instead of 1, storing Y: 32 instead of 1"));
  EXPECT_THAT(in_words(wrong, "mine", right), StartsWith("Better than mine, because L1"));
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

TEST(Explain, HasTheRolesOfWarps) {
  PlanAnalysis analysis = on("hopper/tma", "H100", {256, 256, 512});
  EXPECT_EQ(sections(analysis.kernels[0], analysis).back().title, "Roles of Warps");
  std::string text = facts_of(analysis);
  for (const char *fact :
       {"Main role: 4 warps",
        "Role 1: 4 warps of 40 registers; one thread starts bulk copies to A_shared, B_shared",
        "Main role awaits: A_shared, B_shared: filled by other warps, read below by AB",
        "Role 1 awaits: A_shared, B_shared: read by AB, ", "Slots: ", "Fills of a block: 8",
        "To fill a slot: ", "To use it: ", "Memory answers: after ", "Who waits: "})
    EXPECT_THAT(text, HasSubstr(fact));
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

TEST(Explain, NamesTheLargestLossOrTheResource) {
  PlanAnalysis analysis = on("principles/tile64", "H200");
  KernelAnalysis &kernel = analysis.kernels[0];
  kernel.compiled.emplace();
  kernel.waves.full = 2;
  kernel.estimated_seconds = 1.25 * kernel.seconds();
  kernel.losses = {.imbalance = 1.27, .latency = 1.05, .barriers = 1, .fetch = 1.01, .banks = 1};
  EXPECT_EQ(limit_text(kernel), "imbalance of the last wave, 1.27 times");
  EXPECT_THAT(facts_of(analysis), HasSubstr("Limited by: imbalance of the last wave, 1.27 times\n"
                                            "Other losses: latency, 1.05 times\n"));
  EXPECT_THAT(in_words(analysis), HasSubstr(", limited by imbalance of the last wave, 1.27 times."));
  kernel.waves.full = 0;
  EXPECT_EQ(limit_text(kernel), "imbalance of the only wave, 1.27 times");
  kernel.losses = {.imbalance = 1.09, .fetch = 1.5};
  EXPECT_EQ(limit_text(kernel), "instruction fetch, 1.5 times");
  kernel.losses = {.imbalance = 1.09};
  EXPECT_EQ(limit_text(kernel), "shared memory, 80 % of the estimated time");
}

std::multiset<std::string> numbers_in(const std::string &text) {
  static const std::regex number("[0-9]+([.][0-9]+)?");
  std::multiset<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), number), end; at != end; ++at)
    found.insert(at->str());
  return found;
}

/// Both languages state the same facts, and Korean has no sentence left in English.
TEST(Explain, TheLanguagesHaveTheSameFacts) {
  struct Pair {
    const char *before, *after, *gpu;
  };
  for (const Pair &pair : {Pair{"deep_dive/naive", "deep_dive/coalesced", "A100"},
                           {"principles/tile32", "principles/transposed", "A100"},
                           {"principles/padded", "principles/swizzled", "A100"},
                           {"principles/tile64", "principles/tile64", "A100"},
                           {"deep_dive/coalesced", "deep_dive/shared", "RTX 5090"},
                           {"ladder/vectors", "ladder/prefetch", "H200"},
                           {"ladder/prefetch", "ladder/async", "H200"},
                           {"ladder/tile2d", "tensor/swizzled", "H200"},
                           {"tensor/swizzled", "tensor/ldmatrix", "H200"}}) {
    PlanAnalysis before = on(pair.before, pair.gpu), after = on(pair.after, pair.gpu);
    for (bool swapped : {false, true}) {
      const PlanAnalysis &b = swapped ? after : before, &a = swapped ? before : after;
      for (auto words : {+[](const PlanAnalysis &x, const PlanAnalysis &y, Language language) {
                           return in_words(x, "mine", y, language);
                         },
                         +[](const PlanAnalysis &, const PlanAnalysis &y, Language language) {
                           return in_words(y, language);
                         }}) {
        const std::string en = words(b, a, Language::en), ko = words(b, a, Language::ko);
        EXPECT_EQ(numbers_in(en), numbers_in(ko)) << en << "\n" << ko;
        for (const char *english : {" the ", " of ", " is ", " instead ", " which ", "accessed", "limit"})
          EXPECT_THAT(ko, Not(HasSubstr(english)));
      }
    }
  }
}

TEST(Explain, SaysWhatIsNotKnown) {
  Schedule schedule = never_seen(true);
  PlanAnalysis analysis = analysed(schedule, find_gpu("A100"));
  ASSERT_FALSE(analysis.kernels[0].compiled.has_value());
  bool said = false;
  for (const Section &section : sections(analysis.kernels[0], analysis))
    for (const Fact &fact : section.facts)
      said |= fact.label == "Registers per thread" && fact.quality == Quality::unknown;
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
  // There are 256 blocks of 16 x 16 threads on 108 SMs, so the busiest SM has three. Each of 8 warps has 64
  // multiply-adds, and for alpha*AB + beta*C another one, a product, and a test of beta.
  EXPECT_EQ(kernel.waves.busiest, 3);
  EXPECT_EQ(kernel.bound(Resource::fp32).amount, 3.0 * 8 * 67 * 32 / gpu.fp32_lanes);
  EXPECT_EQ(kernel.bound(Resource::fp32).seconds, kernel.bound(Resource::fp32).amount / gpu.clock_hz);
  EXPECT_EQ(kernel.bound(Resource::shared).amount, 0);
  // The loop requests A and B, and C is requested twice. There are no barriers.
  EXPECT_EQ(kernel.bound(Resource::issue).amount, 3.0 * 8 * (2 * 64 + 2 + 67) / gpu.schedulers);
  // A warp has two rows of 16 lanes, so it accesses two lines of A and C, and one of B.
  EXPECT_EQ(kernel.bound(Resource::l1).amount, 3.0 * 8 * (3 * 64 + 2 * 2)) << "a clock for each line";
  for (std::size_t n = 1; n < kernel.bounds.size(); ++n)
    EXPECT_LE(kernel.bounds[n].seconds, kernel.bounds[n - 1].seconds);
}

/// The first steps of tvm_steps add to C in memory. The compiler keeps the sum in a register during the
/// innermost loop, and the analysis must do so, too.
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

/// The cache model and the counts unroll loops differently. Both must count one access.
TEST(Analysis, CopiesOfACallAreOneAccess) {
  PlanAnalysis analysis = on("tensor/warp_tiles", "H200", {1024, 1024, 1024});
  const KernelAnalysis &kernel = analysis.kernels[0];
  auto rows = [](const model::AccessCounts &access) {
    return kernel::as<kernel::Call>(access.stmt) != nullptr;
  };
  EXPECT_EQ(std::ranges::count_if(kernel.counters.accesses, rows), 2) << "ldmatrix of A, and of B";
  EXPECT_LE(kernel.memory.traffic.l2_read_hits, kernel.memory.traffic.l2_reads);
  EXPECT_LE(kernel.memory.traffic.dram_bytes(), kernel.memory.traffic.l2_bytes());
}

/// There are 64 x 32 results per block of 16 warps, with 16 x 8 each.
TEST(Analysis, ProductsAreCallsOfTheMatrixUnits) {
  PlanAnalysis analysis = on("tensor/ldmatrix", "H200");
  const KernelAnalysis &kernel = analysis.kernels[0];
  constexpr std::uint64_t calls = 256 * 256 * 256 / (16 * 8 * 16);
  ASSERT_EQ(kernel.counters.matrix.size(), 1U);
  EXPECT_EQ(kernel.counters.matrix.begin()->first->name, "mma_m16n8k16");
  EXPECT_EQ(kernel.counters.matrix_calls().warps, calls);
  EXPECT_EQ(kernel.counters.matrix_multiply_adds(), 256U * 256 * 256);
  EXPECT_EQ(kernel.counters.multiply_adds.threads, 256U * 256) << "alpha*AB + beta*C";
  EXPECT_GE(analysis.flops(), analysis.needed_flops);
  EXPECT_EQ(kernel.waves.busiest, 1) << "32 blocks";
  EXPECT_DOUBLE_EQ(kernel.bound(Resource::matrix).amount, calls / 32.0 * 16 * 8 * 16 / (4096 / 3.0));
  EXPECT_EQ(analysis.matrix_feature(), Feature::mma_f16);
  EXPECT_EQ(analysis.peak(), analysis.gpu.matrix_flops(Feature::mma_f16));
  EXPECT_EQ(on("principles/tile32", "H200").peak(), analysis.gpu.fp32_flops());
}

TEST(Analysis, ProductsOfIntegersAreCallsOfTheMatrixUnits) {
  Schedule schedule =
      figure::find_rung("tensor/ldmatrix").build({256, 256, 256}, DType::i8, Target{.arch = {90}});
  PlanAnalysis analysis = analysed(schedule, find_gpu("H200"));
  EXPECT_EQ(analysis.matrix_feature(), Feature::mma_i8);
  EXPECT_EQ(analysis.kernels[0].counters.matrix_calls().warps, 256U * 256 * 256 / (16 * 8 * 32));
}

/// Each instruction multiplies 16 x 16 elements of A (four matrices) by 16 x 8 elements of B (two matrices).
TEST(Analysis, LdmatrixTakesAWavefrontForEachMatrixWithoutConflicts) {
  constexpr std::uint64_t calls = 256 * 256 * 256 / (16 * 8 * 16);
  auto rows = [](const char *rung) { return on(rung, "H200").kernels[0].counters.ldmatrix(); };
  model::RequestSums plain = rows("tensor/ldmatrix"), swizzled = rows("tensor/swizzled");
  for (const model::RequestSums &sum : {plain, swizzled}) {
    EXPECT_EQ(sum.requests, 2 * calls);
    EXPECT_EQ(sum.threads, (32 + 16) * calls) << "lanes that supply addresses";
    EXPECT_EQ(sum.wavefronts - sum.conflicts, (4 + 2) * calls);
  }
  EXPECT_EQ(plain.wavefronts, 4 * (4 + 2) * calls) << "of 8 rows of 64 bytes, 4 start in each bank";
  EXPECT_EQ(swizzled.conflicts, 0U);
}

/// The rungs in f16 at 4096x4096x4096 on an H200: the bounds must be less than the measured times, and in the
/// same order.
TEST(Analysis, BoundsOfTheRungsOfTensorAreBelowTheMeasuredTimes) {
  struct Case {
    const char *rung;
    double tflops; // measured
    Resource limiter;
  };
  double before = 1;
  for (const Case &c : {Case{"tensor/mma", 11.0, Resource::l1},
                        {"tensor/shared", 24.1, Resource::shared},
                        {"tensor/ldmatrix", 30.6, Resource::shared},
                        {"tensor/swizzled", 74.9, Resource::shared},
                        {"tensor/warp_tiles", 196, Resource::matrix},
                        {"tensor/tuned", 418, Resource::matrix}}) {
    PlanAnalysis analysis = analyse_rung(c.rung, {4096, 4096, 4096}, find_gpu("H200"), 20'000);
    EXPECT_LT(analysis.seconds(), 2.0 * 4096 * 4096 * 4096 / (c.tflops * 1e12)) << c.rung;
    EXPECT_LE(analysis.seconds(), before) << c.rung;
    EXPECT_EQ(analysis.limiter(), c.limiter) << c.rung;
    before = analysis.seconds();
  }
}

TEST(Explain, NamesTheMatrixUnitsAndTheInstructionsThatFeedThem) {
  auto step = [](const char *before, const char *after) {
    return in_words(on(before, "H200"), before, on(after, "H200"));
  };
  EXPECT_THAT(step("tensor/mma", "tensor/shared"), HasSubstr("L1, which limited it, takes "));
  EXPECT_THAT(
      step("tensor/shared", "tensor/ldmatrix"),
      HasSubstr("A warp loads its operands by ldmatrix, up to four 8 x 8 matrices with one instruction."));
  EXPECT_THAT(
      step("tensor/ldmatrix", "tensor/swizzled"),
      HasSubstr("reading A_shared by ldmatrix: 4 instead of 16, reading B_shared by ldmatrix: 2 instead of 8"));
  EXPECT_THAT(step("tensor/warp_tiles", "tensor/async2"),
              HasSubstr("Asynchronous copies (cp.async) fill shared memory without registers, while the warps "
                        "compute."));
  PlanAnalysis tuned = on("tensor/tuned", "H200", {2048, 2048, 2048});
  PlanAnalysis large = on("tensor/warp_tiles", "H200", {2048, 2048, 2048});
  EXPECT_THAT(
      in_words(on("tensor/swizzled", "H200", {2048, 2048, 2048}), "tensor/swizzled", large),
      HasSubstr("a request takes 4 wavefronts instead of 2.5, because it accesses more words without a bank "
                "conflict."));
  EXPECT_EQ(tuned.limiter(), Resource::matrix);
  EXPECT_THAT(in_words(tuned), HasSubstr("bound by matrix units"));
  EXPECT_THAT(in_words(on("ladder/tile2d"), "ladder/tile2d", on("tensor/swizzled")),
              HasSubstr("The matrix units compute the products instead of the FP32 pipe."));
}

TEST(Roofline, HasThePeakOfThePipe) {
  auto text = [](const PlanAnalysis &analysis) {
    std::string all;
    for (const Fact &fact : roofline(analysis).facts)
      all += fact.label + ": " + fact.value + "\n";
    return all;
  };
  std::string products = text(on("tensor/swizzled", "H200"));
  EXPECT_THAT(products, HasSubstr("Peak by mma.sync: 713.7 TFLOP/s; published for dense operands: 989.4 "
                                  "(mma.sync: measured on an H200"));
  EXPECT_THAT(products, HasSubstr("Ridge point: 149 FLOP/byte"));
  std::string scalar = text(on("principles/tile32", "H200"));
  EXPECT_THAT(scalar, Not(HasSubstr("mma.sync")));
  EXPECT_THAT(scalar, HasSubstr("Ridge point: 13.9 FLOP/byte"));
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
