/// Tests that advice is applied before it is given, and that rungs are compared with those on which they build.

#include "dsl/hardware/gpus.h"
#include "runtime/model/analyse.h"
#include "tests/tools/call_main.h"
#include "tests/tools/run_binary.h"
#include "tools/advice/changes.h"
#include "tools/results/analysed.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <set>

namespace nestsmith {
namespace {

using testing::HasSubstr;
using testing::Not;

llvm::json::Object explained(const std::string &arguments) {
  const llvm::json::Value value = test::parsed(test::nestsmith("explain " + arguments + " --json"));
  return *value.getAsObject();
}

/// An attribute; empty if there is none.
std::string text_of(const llvm::json::Object &object, const char *attribute) {
  auto text = object.getString(attribute);
  return text ? text->str() : "";
}

/// The time of a change that was tried; 0: it was not tried.
double time_of(const llvm::json::Object &advice, const std::string &change) {
  for (const llvm::json::Value &each : *advice.getArray("tried"))
    if (each.getAsObject()->getString("change") == llvm::StringRef(change))
      return *each.getAsObject()->getNumber("seconds");
  return 0;
}

/// The estimated time of a rung with one kernel.
double estimate(const std::string &arguments) {
  const llvm::json::Object root = explained(arguments);
  return *(*root.getArray("kernels"))[0].getAsObject()->getNumber("estimated_seconds");
}

/// Expects that the advice is a gain, and the largest of the changes that were tried.
void expect_gain(const std::string &arguments) {
  const llvm::json::Object root = explained(arguments);
  const llvm::json::Object &advice = *root.getObject("advice");
  double before = *advice.getNumber("seconds"), best = before;
  for (const llvm::json::Value &each : *advice.getArray("tried"))
    best = std::min(best, *each.getAsObject()->getNumber("seconds"));
  EXPECT_EQ(bool(advice.getNumber("changed_seconds")), best * 1.05 <= before) << arguments;
  if (auto changed = advice.getNumber("changed_seconds")) {
    EXPECT_EQ(*changed, best) << arguments;
    EXPECT_GE(*advice.getNumber("gain"), 1.05) << arguments;
    EXPECT_EQ(time_of(advice, advice.getString("change")->str()), best);
  }
}

TEST(Advice, IsTheGainOfAScheduleThatWasAnalysed) {
  const std::string at = " --gpu A100 --shape 64x64x64";
  const llvm::json::Object transposed = explained("principles/transposed" + at);
  const llvm::json::Object &advice = *transposed.getObject("advice");
  EXPECT_EQ(time_of(advice, "pad B_shared to rows of 33 words"), estimate("principles/padded" + at));
  EXPECT_EQ(time_of(advice, "swizzle B_shared by (5, 0, 5)"), estimate("principles/swizzled" + at));
  EXPECT_THAT(test::nestsmith("explain principles/transposed" + at).out,
              testing::ContainsRegex("To improve: (pad|swizzle) B_shared"));
}

/// A sample, whose largest gains are of three kinds. The long run (tests/long_run.sh) takes every rung, with a
/// GPU that its place chooses.
TEST(Advice, OfRungsIsAGain) {
  if (!std::getenv("NESTSMITH_FULL")) {
    expect_gain("principles/transposed --gpu H200 --shape 64x64x64");
    expect_gain("fast/gemm --gpu 'RTX 4090' --shape 96x160x64");
    expect_gain("worklog/1 --gpu 'RTX A500' --shape 65x33x17");
    return;
  }
  const char *const gpus[] = {"H200", "A100", "'RTX 4090'", "'RTX A6000'", "'RTX 5090'"};
  std::size_t n = 0;
  for (const Rung &rung : builtin_rungs()) {
    Shape shape = rung.tile;
    for (std::int64_t &extent : shape)
      extent *= 2;
    expect_gain(fmt::format("{} --gpu {} --shape {}", rung.full_name(), gpus[n++ % std::size(gpus)],
                            fmt::join(shape, "x")));
  }
}

/// `advise` estimates only the most promising changes, so that a kind that is never legal would not be noticed.
TEST(Advice, HasALegalChangeOfEachKind) {
  constexpr std::vector<cli::Change> (*rules[])(const cli::Subject &) = {
      cli::pad_rows,       cli::swizzle_words, cli::swap_lanes,     cli::turn_knobs,     cli::widen_accesses,
      cli::overlap_copies, cli::resize_tiles,  cli::reorder_blocks, cli::limit_registers};
  const Gpu gpu = find_gpu("A100");
  std::string note;
  std::set<std::size_t> legal;
  for (const char *name : {"principles/transposed", "worklog/1", "fast/gemm", "ladder/tile2d"}) {
    Knobs knobs;
    cli::Scheduled scheduled = cli::schedule_at(cli::choose_rung(builtin_rungs(), name), {128, 128, 64},
                                                DType::f32, target_of(gpu), knobs);
    kernel::Plan plan = scheduled.plan();
    PlanAnalysis analysis = analyse(scheduled.source(), plan, gpu, cli::resources_if_possible(plan, gpu, note));
    for (std::size_t n = 0; n < std::size(rules); ++n)
      for (const cli::Change &change : rules[n]({scheduled, analysis})) {
        EXPECT_FALSE(change.what.en.empty() || change.what.ko.empty());
        try {
          if (change.schedule().obligations().empty())
            legal.insert(n);
        } catch (const UserError &) { // a change may be illegal
        }
      }
  }
  for (std::size_t n = 0; n < std::size(rules); ++n)
    EXPECT_TRUE(legal.contains(n) || (n == std::size(rules) - 1 && !note.empty()))
        << "rule " << n << " " << note;
}

/// All lanes of a warp read one row of the tile, so padding moves none of them to another bank.
TEST(Advice, DoesNotPadARowThatAWarpReads) {
  const llvm::json::Object root = explained("ladder/tile2d --gpu H200 --shape 128x128x64");
  const llvm::json::Object &advice = *root.getObject("advice");
  EXPECT_THAT(text_of(advice, "change"), Not(HasSubstr("pad ")));
}

TEST(Advice, SwapsTheLanesOfANestThatNobodyHasSeen) {
  test::TemporaryFolder folder;
  std::string file = (folder / "mine.json").string();
  test::write_file(file, test::nestsmith("show worklog/1 --shape 128x128x64 --trace json").out);
  const llvm::json::Object root = explained(file + " --gpu H200");
  EXPECT_EQ(root.getObject("advice")->getString("change"),
            llvm::StringRef("bind the loop of threadIdx.y to threadIdx.x, and the other way round"));
}

TEST(Advice, TurnsTheKnobsThatTheUserDidNotSet) {
  const llvm::json::Object root = explained("fast/gemm --gpu H200 --shape 128x128x64 --set bk=8");
  for (const llvm::json::Value &each : *root.getObject("advice")->getArray("tried"))
    EXPECT_THAT(each.getAsObject()->getString("change")->str(), Not(HasSubstr("--set bk=")));
}

TEST(Advice, IsReplayedFromTheTrace) {
  const Rung &rung = *std::ranges::find(builtin_rungs(), "ladder/tile2d", &Rung::full_name);
  Schedule schedule = rung.build({128, 128, 64}, DType::f32, Target{});
  Schedule again = cli::replayed(schedule, [](Schedule &, const Directive &) { return false; });
  EXPECT_EQ(again.trace(), schedule.trace());
}

/// With the explicit table, since the order of `list` is not the order of what a rung adds.
TEST(Baseline, IsTheRungOnWhichARungBuilds) {
  const llvm::json::Value list = test::parsed(test::nestsmith("list --json"));
  std::map<std::string, std::string> against;
  for (const llvm::json::Value &each : *list.getAsObject()->getArray("rungs"))
    against[each.getAsObject()->getString("name")->str()] = text_of(*each.getAsObject(), "against");
  EXPECT_EQ(against["ladder/naive"], "");
  EXPECT_EQ(against["ladder/coalesced"], "ladder/naive");
  EXPECT_EQ(against["principles/swizzled"], "principles/transposed");
  EXPECT_EQ(against["principles/tile64"], "principles/tile32");
  EXPECT_EQ(against["principles/branch_free"], "principles/divergent");
  EXPECT_EQ(against["gemm/tt"], "gemm/nn");
  EXPECT_EQ(against["tensor/ahead"], "tensor/async3");
  EXPECT_EQ(against["tensor/nt"], "tensor/tuned");
  EXPECT_EQ(against["fast/best"], "fast/gemm");
  std::set<std::string> earlier;
  for (const Rung &rung : builtin_rungs()) {
    EXPECT_TRUE(rung.against.empty() || earlier.contains(rung.against)) << rung.full_name();
    earlier.insert(rung.full_name());
  }
}

TEST(Baseline, MayBeAnotherComputationIfTheRungSaysSo) {
  EXPECT_THAT(test::nestsmith("explain tensor/nt --gpu A100 --shape 128x128x64").out,
              HasSubstr("\nAgainst tensor/tuned\n"));
  EXPECT_THAT(test::nestsmith("compare gemm/nt --gpu A100 --shape 64x64x64").out, HasSubstr("gemm/nn"));
  test::Ran first = test::nestsmith("compare gemm/nn --shape 64x64x64");
  EXPECT_EQ(first.code, 2);
  EXPECT_EQ(first.err,
            "nestsmith: gemm/nn builds on no other rung; name two rungs: nestsmith compare OTHER gemm/nn\n");
}

TEST(Lesson, IsTheGpuAndTheShapeAtWhichARungTeaches) {
  for (const Rung &rung : builtin_rungs())
    if (rung.lesson) {
      EXPECT_NO_THROW(find_gpu(rung.lesson->gpu)) << rung.full_name();
      EXPECT_EQ(rung.lesson->shape.size(), rung.default_shape.size()) << rung.full_name();
      const char *shape = rung.default_shape.size() == 3 ? "128x128x64" : "128x64";
      EXPECT_THAT(test::nestsmith(fmt::format("explain {} --gpu A100 --shape {}", rung.full_name(), shape)).out,
                  HasSubstr(fmt::format("{} shows its effect at ", rung.full_name())));
    }
  EXPECT_THAT(test::nestsmith("list tensor").out, HasSubstr("(at 8192x8192x8192 on L4)"));
}

} // namespace
} // namespace nestsmith
