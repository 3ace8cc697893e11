/// Tests that the figures in the posts of the tutorials follow from the lowered kernels.

#include "runtime/model/host.h"
#include "tools/pages/figures/causes.h"
#include "tools/pages/figures/figures.h"
#include "tools/pages/figures/measure.h"
#include "tools/pages/mistakes/examples.h"
#include "tools/results/published.h"

#include <gtest/gtest.h>

namespace nestsmith {
namespace {

using figure::measure;
using figure::RungCounts;

double threads(const RungCounts &counts, const char *buffer, bool stores = false) {
  return static_cast<double>(counts.access(buffer, stores).threads);
}

TEST(TutorialFigures, ComeOutAsPublishedOrCorrected) {
  std::size_t corrected = 0;
  for (const Figure &figure : figures()) {
    EXPECT_NE(verdict(figure), FigureVerdict::wrong)
        << figure.tutorial << " " << figure.what << ": got " << figure.ours << ", expected " << figure.right;
    if (verdict(figure) == FigureVerdict::corrected) {
      ++corrected;
      EXPECT_FALSE(figure.note.empty()) << figure.what << ": why is the post's figure wrong?";
    }
  }
  EXPECT_EQ(corrected, 12U);
}

TEST(TutorialFigures, AVerdictIsOfTheFigures) {
  Figure figure{"deep_dive", "", 12, 11, 11};
  EXPECT_EQ(verdict(figure), FigureVerdict::corrected);
  figure.ours = 12;
  EXPECT_EQ(verdict(figure), FigureVerdict::wrong);
  figure.right = 12;
  EXPECT_EQ(verdict(figure), FigureVerdict::reproduced);
  Figure time{"deep_dive", "", 1.001, 1.001, 0.64, FigureSource::predicted};
  EXPECT_EQ(verdict(time), FigureVerdict::disagrees);
  time.ours = 0.97;
  EXPECT_EQ(verdict(time), FigureVerdict::agrees);
  time.published = 2;
  EXPECT_EQ(verdict(time), FigureVerdict::disagrees);
}

TEST(TutorialFigures, APredictionThatDisagreesHasACause) {
  for (const Figure &figure : predictions("tvm_steps")) {
    EXPECT_EQ(figure.source, FigureSource::predicted);
    EXPECT_EQ(figure.note.find("fewer warps"), std::string::npos) << figure.what;
    if (verdict(figure) == FigureVerdict::disagrees) {
      EXPECT_NE(figure.note.find("not known"), std::string::npos) << figure.what << ": " << figure.note;
    }
  }
}

/// A post can be faster than a least time, which counts the work in the text of our kernel.
TEST(TutorialFigures, ATimeBelowTheLeastTimeHasACause) {
  PlanAnalysis step1 = figure::analyse_rung("tvm_steps/step1", {512, 512, 512}, find_gpu("RTX A500")),
               step2 = figure::analyse_rung("tvm_steps/step2", {512, 512, 512}, find_gpu("RTX A500"));
  figure::PublishedTime before{"step1", 2 * step1.seconds(), step1}, fast{"step2", step2.seconds() / 2, step2},
      slow{"step2", 2 * step2.seconds(), step2};
  std::string note = figure::cause(before, fast, true);
  EXPECT_NE(note.find("step2 takes "), std::string::npos) << note;
  EXPECT_NE(note.find(" in the post, less than its least time of "), std::string::npos) << note;
  EXPECT_EQ(figure::cause(before, slow, true).find("less than its least time"), std::string::npos);
  // The compiled code executes as many loads as the text, so merged loads are not the cause.
  EXPECT_NE(note.find("; the cause is not known"), std::string::npos) << note;
}

TEST(TutorialFigures, ARateOfAnotherKernelDecidesNothing) {
  Figure rate{"tensor", "", 140, 140, 200, FigureSource::estimated};
  EXPECT_EQ(verdict(rate), FigureVerdict::beside);
}

TEST(TutorialFigures, PublishedRungsExist) {
  for (const PublishedTable &table : published_tables())
    for (const PublishedRow &row : table.rows) {
      bool exists = std::ranges::any_of(builtin_rungs(), [&](const Rung &rung) {
        return rung.tutorial == table.tutorial && rung.name == row.rung;
      });
      EXPECT_TRUE(exists || row.rung.empty()) << table.tutorial << " " << row.rung;
    }
}

/// deep_dive: loads per result, from counts of every block.
TEST(TutorialFigures, LoadsForAResult) {
  for (std::int64_t K : {32, 96, 256}) {
    RungCounts shared = measure("deep_dive/shared", {64, 96, K});
    auto k = static_cast<double>(K);
    EXPECT_EQ(shared.results, 64 * 96);
    EXPECT_EQ((threads(shared, "A") + threads(shared, "B")) / shared.results, k / 16);
    EXPECT_EQ((threads(shared, "A_shared") + threads(shared, "B_shared")) / shared.results, 2 * k);
    RungCounts tile1d = measure("deep_dive/tile1d", {64, 128, K});
    EXPECT_EQ((threads(tile1d, "A") + threads(tile1d, "B")) / tile1d.results, k / 32);
    EXPECT_EQ((threads(tile1d, "A_shared") + threads(tile1d, "B_shared")) / tile1d.results, 9 * k / 8);
  }
}

TEST(TutorialFigures, CoalescingIsInSectors) {
  RungCounts naive = measure("deep_dive/naive", {256, 256, 64}),
             coalesced = measure("deep_dive/coalesced", {256, 256, 64});
  EXPECT_EQ(naive.access("A").sectors_per_request(), 32);
  EXPECT_EQ(naive.access("B").sectors_per_request(), 1);
  EXPECT_EQ(coalesced.access("A").sectors_per_request(), 1);
  EXPECT_EQ(coalesced.access("B").sectors_per_request(), 4);
  EXPECT_EQ(naive.access("A").requests, coalesced.access("A").requests);
}

/// deep_dive: the product of rate and time is the same for both kernels, and so are the bytes of the cache
/// model.
TEST(TutorialFigures, CoalescingDoesNotChangeWhatDramMoves) {
  const Gpu &gpu = find_gpu("A100");
  const Shape shape = {256, 256, 256};
  double naive = figure::analyse_rung("deep_dive/naive", shape, gpu).dram_bytes();
  double coalesced = figure::analyse_rung("deep_dive/coalesced", shape, gpu).dram_bytes();
  EXPECT_EQ(naive, coalesced);
  EXPECT_EQ(naive, 4 * 256 * 256 * 4) << "A, B and C read once, C written once";
}

/// principles: FLOP per byte that loads of A and B request.
TEST(TutorialFigures, Intensities) {
  struct Case {
    const char *rung;
    double flop_per_byte;
  };
  for (const Case &c : {Case{"principles/one", 0.25},
                        {"principles/two_by_two", 0.5},
                        {"principles/tile32", 8},
                        {"principles/tile64", 16}}) {
    RungCounts counts = measure(c.rung, {128, 128, 128});
    auto asked = static_cast<double>(counts.access("A").asked + counts.access("B").asked);
    EXPECT_EQ(2.0 * 128 * 128 * 128 / asked, c.flop_per_byte) << c.rung;
  }
}

TEST(TutorialFigures, TileQuantization) {
  RungCounts counts = measure("principles/tile32", {65, 65, 64});
  EXPECT_EQ(counts.counters.blocks, 9U);
  EXPECT_EQ(counts.counters.multiply_adds.threads, 9U * 1024 * 64 + 4225) << "and alpha*AB + beta*C";
  EXPECT_EQ(counts.results, 4225);
}

TEST(TutorialFigures, BanksOfTheTransposedTile) {
  const Shape shape = {64, 64, 64};
  for (auto [rung, wavefronts] :
       {std::pair{"principles/transposed", 32}, {"principles/padded", 1}, {"principles/swizzled", 1}}) {
    RungCounts counts = measure(rung, shape);
    EXPECT_EQ(counts.access("B_shared", true).wavefronts_per_request(), wavefronts) << rung;
    EXPECT_EQ(counts.access("B_shared").wavefronts_per_request(), wavefronts) << rung;
    EXPECT_EQ(counts.access("A_shared").wavefronts_per_request(), 1) << rung;
  }
  EXPECT_EQ(measure("principles/tile32", shape).access("B_shared").wavefronts_per_request(), 1);
}

/// worklog: what the variants of B's tile change. A warp reads 16 groups of 8 columns of one row.
TEST(TutorialFigures, BanksOfTheVariantsOfKernel6) {
  const Shape shape = {128, 128, 32};
  auto wavefronts = [&](const char *rung, bool stores) {
    return measure(rung, shape).access("B_shared", stores).wavefronts_per_request();
  };
  EXPECT_EQ(wavefronts("worklog/6", false), 4) << "of 128 bits: 512 bytes for the warp";
  EXPECT_EQ(wavefronts("worklog/7", false), 1);
  EXPECT_EQ(wavefronts("worklog/7", true), 2) << "two columns 4 apart are 64 words apart";
  EXPECT_EQ(wavefronts("worklog/8", false), 4) << "columns 8 apart: the length of a row changes nothing";
  EXPECT_EQ(wavefronts("worklog/8", true), 4);
  EXPECT_EQ(4 * measure("worklog/6", shape).access("B_shared").requests,
            measure("worklog/7", shape).access("B_shared").requests);
}

/// worklog: per multiply-add, the threads of warp tiles read fewer operands from shared memory.
TEST(TutorialFigures, WarpTilesReadFewerOperands) {
  auto requests = [](const char *rung) {
    RungCounts counts = measure(rung, {128, 128, 32});
    return counts.access("A_shared").requests + counts.access("B_shared").requests;
  };
  EXPECT_EQ(requests("worklog/9"), 8U * 32 * 4) << "8 warps read 4 vectors for each k";
  EXPECT_EQ(requests("worklog/10"), 4U * 32 * 6) << "4 warps read 2 + 4 vectors for each k";
}

TEST(TutorialFigures, PrintedFetchesOf001And003) {
  RungCounts b = measure(mistake::column_of_b());
  EXPECT_EQ(b.access("A").sectors_per_request(), 4);
  EXPECT_EQ(b.access("B").sectors_per_request(), 32);
  EXPECT_EQ(b.access("B_shared", true).wavefronts_per_request(), 32);
  EXPECT_EQ(b.access("B_shared").wavefronts_per_request(), 32);
  RungCounts each = measure(mistake::consecutive_elements());
  EXPECT_EQ(each.access("A").sectors_per_request(), 32);
  EXPECT_EQ(each.access("A_shared", true).wavefronts_per_request(), 32);
}

TEST(TutorialFigures, DivergenceRunsBothSides) {
  const Shape shape = {4096};
  RungCounts divergent = measure("principles/divergent", shape), uniform = measure("principles/uniform", shape);
  EXPECT_EQ(divergent.counters.divergent, 4096U / 32) << "one branch of each warp";
  EXPECT_EQ(uniform.counters.divergent, 0U);
  auto warps = [](const RungCounts &counts) {
    return counts.counters.multiply_adds.warps + counts.counters.floating.warps;
  };
  EXPECT_EQ(warps(divergent), 2 * warps(uniform));
  EXPECT_EQ(measure("principles/branch_free", shape).counters.divergent, 0U);
}

TEST(TutorialFigures, FusionHalvesTheBytes) {
  const Gpu &gpu = find_gpu("A100");
  PlanAnalysis fused = figure::analyse_rung("principles/fused", {4096}, gpu);
  PlanAnalysis unfused = figure::analyse_rung("principles/unfused", {4096}, gpu);
  EXPECT_EQ(fused.asked_bytes(), 2 * 4096 * 4);
  EXPECT_EQ(unfused.asked_bytes(), 4 * 4096 * 4);
  EXPECT_EQ(unfused.kernels.size(), 2U);
  EXPECT_EQ(2 * fused.dram_bytes(), unfused.dram_bytes());
}

/// principles: the article's overhead-bound regime.
TEST(TutorialFigures, TheHostLimitsSmallKernels) {
  const Gpu &gpu = find_gpu("A100");
  PlanAnalysis launches = figure::analyse_rung("principles/launches", {4096}, gpu);
  std::optional<HostTime> host = host_limit(launches);
  ASSERT_TRUE(host);
  EXPECT_EQ(launches.kernels.size(), 16U);
  EXPECT_NEAR(host->enqueue, 16 * launch_seconds, 1e-12);
  EXPECT_EQ(host->one_by_one, host->enqueue);
  EXPECT_LT(host->gpu, host->graph);
  EXPECT_LT(2 * host->graph, host->one_by_one);
  EXPECT_NE(in_words(launches).find(" The host is the limit: it takes about 52 us to enqueue the 16 kernels"),
            std::string::npos);
  PlanAnalysis one = figure::analyse_rung("principles/one_launch", {4096}, gpu);
  EXPECT_FALSE(host_limit(one)) << "one kernel";
  EXPECT_NE(in_words(launches, "launches", one)
                .find(" The host launches 1 kernel instead of 16, in about 3.25 us instead of 52 us."),
            std::string::npos);
}

TEST(TutorialFigures, TheHostDoesNotLimitLargeKernels) {
  PlanAnalysis unfused = figure::analyse_rung("principles/unfused", {1 << 24}, find_gpu("A100"));
  EXPECT_FALSE(host_limit(unfused));
  EXPECT_EQ(in_words(unfused).find("host"), std::string::npos);
  EXPECT_TRUE(host_limit(figure::analyse_rung("principles/unfused", {1000}, find_gpu("A100"))));
}

} // namespace
} // namespace nestsmith
