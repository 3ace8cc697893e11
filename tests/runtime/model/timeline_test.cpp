/// Tests the time line of an SM: its events cover the clocks of the estimate, and units are never shared.

#include "runtime/model/timeline.h"

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/model/analyse.h"
#include "schedules/rung.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

namespace nestsmith::model {
namespace {

/// Adds up what it observes.
struct Sums : SmObserver {
  std::map<int, double> end;                         ///< of each warp: the last clock that is covered
  std::map<std::pair<SmUnit, int>, double> unit_end; ///< of each unit
  std::map<int, double> scheduler_end;
  std::map<Stall, double> stalls;
  int overlaps = 0, gaps = 0, flights = 0;

  void cover(int warp, double from, double to) {
    gaps += end[warp] != from;
    end[warp] = to;
  }
  void issue(int scheduler, int warp, std::size_t, double from, double to) override {
    overlaps += from < scheduler_end[scheduler];
    scheduler_end[scheduler] = to;
    cover(warp, from, to);
  }
  void stall(int warp, Stall reason, std::size_t, double from, double to) override {
    stalls[reason] += to - from;
    cover(warp, from, to);
  }
  void busy(SmUnit unit, int index, int, std::size_t, double from, double to) override {
    overlaps += from < unit_end[{unit, index}];
    unit_end[{unit, index}] = to;
  }
  void flight(int, std::size_t, double from, double to) override { flights += to >= from; }
};

Instruction timed(Unit unit, int bytes = 0) {
  Instruction result;
  result.unit = unit;
  result.bytes = bytes;
  return result;
}

/// Copies, loads, products and a barrier, 20 times.
std::vector<Instruction> mixed_code() {
  Instruction load = timed(Unit::shared_load, 16), use = timed(Unit::matrix), wait = timed(Unit::wait);
  load.written = 0;
  use.waits = 1;
  std::vector<Instruction> code;
  for (int n = 0; n < 20; ++n)
    for (const Instruction &each :
         {timed(Unit::async_copy, 16), timed(Unit::commit), wait, timed(Unit::barrier), load, use})
      code.push_back(each);
  code.push_back(timed(Unit::exit));
  return code;
}

SmWork mixed_work(const std::vector<Instruction> &code, int warps, int blocks) {
  SmWork work;
  work.code = &code;
  work.warps = warps;
  work.blocks = blocks;
  work.matrix_clocks = 6.5;
  work.access = {.shared_load = {{16, 4}}, .l1 = 4, .l2 = 7, .global_latency = 300};
  return work;
}

TEST(SmObserver, CoversAllClocksOfEachWarpAndChangesNothing) {
  std::vector<Instruction> code = mixed_code();
  for (auto [warps, blocks] : {std::pair(1, 1), std::pair(3, 1), std::pair(8, 2), std::pair(7, 3)}) {
    SmWork work = mixed_work(code, warps, blocks);
    double alone = sm_clocks(work);
    Sums sums;
    work.observer = &sums;
    EXPECT_EQ(sm_clocks(work), alone);
    EXPECT_EQ(sums.gaps, 0);
    EXPECT_EQ(sums.overlaps, 0) << "a scheduler or unit executes one instruction at a time";
    EXPECT_EQ(sums.end.size(), static_cast<std::size_t>(warps * blocks));
    double last = 0;
    for (const auto &[warp, end] : sums.end)
      last = std::max(last, end);
    EXPECT_LE(last, alone);
    EXPECT_GE(last, alone - 8) << "the last requests leave the pipe after the last warp";
    EXPECT_GT(sums.stalls[Stall::copies], 0);
    EXPECT_GT(sums.stalls[Stall::barrier], 0);
    EXPECT_EQ(sums.flights, 40 * warps * blocks);
  }
}

TEST(SmObserver, NamesTheReasonOfAStall) {
  auto stalls_of = [](std::vector<Instruction> code, int warps) {
    code.push_back(timed(Unit::exit));
    SmWork work = mixed_work(code, warps, 1);
    Sums sums;
    work.observer = &sums;
    sm_clocks(work);
    return sums.stalls;
  };
  Instruction load = timed(Unit::shared_load, 16), use = timed(Unit::other), slow = timed(Unit::other);
  load.written = 0;
  use.waits = 1;
  slow.stall = 9;
  EXPECT_GT(stalls_of({load, use}, 1)[Stall::scoreboard], 20);
  EXPECT_EQ(stalls_of({slow, use}, 1)[Stall::fixed], 8);
  EXPECT_GT(stalls_of(std::vector<Instruction>(8, timed(Unit::matrix)), 4)[Stall::matrix], 30);
  EXPECT_GT(stalls_of(std::vector<Instruction>(40, load), 4)[Stall::queue], 0);
  EXPECT_GT(stalls_of(std::vector<Instruction>(40, timed(Unit::other)), 8)[Stall::scheduler], 40);
  EXPECT_EQ(stalls_of({timed(Unit::branch), use}, 1)[Stall::branch], 19);
}

std::vector<std::string> split_lines(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

/// A compiled product with its line table.
struct Compiled {
  PlanAnalysis analysis;
  std::vector<std::string> lines;
};
std::optional<Compiled> compiled_rung(const char *name, std::int64_t size, DType dtype = DType::f32,
                                      const std::string &arch = "sm_90") {
  try {
    auto rung = std::ranges::find(builtin_rungs(), name, &Rung::full_name);
    Schedule schedule =
        rung->build({size, size, size}, dtype, arch == "sm_90" ? Target{.arch = {90}} : make_target(arch));
    kernel::Plan plan = lower(schedule);
    std::string text = cuda_kernel(plan.only());
    cuda::Compiled compiled =
        cuda::Nvrtc::get().compile(text, entry_name(plan.only()), arch, nullptr, {"--generate-line-info"});
    return Compiled{analyse(schedule.source(), plan, find_gpu("H200"), {compiled}), split_lines(text)};
  } catch (const UserError &error) {
    if (error.code() != ExitCode::no_device)
      throw;
    return std::nullopt;
  }
}

const std::optional<Compiled> &shared_rung() {
  static const std::optional<Compiled> rung = compiled_rung("tiling/shared", 256);
  return rung;
}

bool is_warp_time(const TimelineEvent &event) {
  return event.kind == TimelineKind::instruction || event.kind == TimelineKind::stall;
}

TEST(Timeline, OfARungCoversTheClocksAndNamesLinesAndLoops) {
  const std::optional<Compiled> &rung = shared_rung();
  if (!rung)
    GTEST_SKIP() << "needs NVRTC";
  const KernelAnalysis &kernel = rung->analysis.kernels[0];
  Timeline line = timeline(kernel, rung->analysis.gpu, rung->lines);
  EXPECT_EQ(line.recorded, line.clocks);
  EXPECT_GT(line.executed, 0);
  EXPECT_LE(line.executed, 4);
  EXPECT_TRUE(line.loop.starts_with("for (")) << line.loop;
  std::vector<double> end(line.tracks.size()), covered(line.tracks.size()), began(line.tracks.size());
  bool barrier = false, load = false, loop = false;
  for (const TimelineEvent &event : line.events) {
    EXPECT_GE(event.from, began[event.track]) << "in order";
    began[event.track] = event.from;
    EXPECT_LT(event.from, event.to);
    barrier |= event.name.starts_with("__syncthreads()") && event.unit == "barrier";
    load |= event.kind == TimelineKind::flight && event.name.find("A[") != std::string::npos && event.line > 0;
    loop |= event.kind == TimelineKind::iteration && event.name == line.loop + ", iteration 1";
    if (event.kind == TimelineKind::unit || is_warp_time(event)) {
      EXPECT_GE(event.from, end[event.track]) << line.tracks[event.track].name;
      end[event.track] = event.to;
    }
    if (is_warp_time(event))
      covered[event.track] += event.to - event.from;
  }
  EXPECT_TRUE(barrier);
  EXPECT_TRUE(load);
  EXPECT_TRUE(loop);
  int warps = 0;
  for (std::size_t n = 0; n < line.tracks.size(); ++n)
    if (line.tracks[n].group > 0) {
      ++warps;
      EXPECT_EQ(covered[n], end[n]) << "no clock of a warp is missing";
      EXPECT_LE(end[n], line.clocks);
    }
  EXPECT_EQ(warps, line.blocks * line.warps);
}

TEST(Timeline, HasFewerIterationsIfThereAreTooManyEvents) {
  const std::optional<Compiled> &rung = shared_rung();
  if (!rung)
    GTEST_SKIP() << "needs NVRTC";
  auto of = [&](std::size_t events) {
    return timeline(rung->analysis.kernels[0], rung->analysis.gpu, rung->lines, {.max_events = events});
  };
  Timeline all = of(1'000'000), half = of(all.events.size() * 2 / 3), cut = of(500);
  EXPECT_LT(half.executed, all.executed);
  EXPECT_EQ(half.recorded, half.clocks);
  EXPECT_EQ(cut.executed, 1);
  EXPECT_LT(cut.recorded, cut.clocks);
  EXPECT_LT(cut.events.size(), 1000U);
}

TEST(Timeline, OfAPipelineShowsCopiesInFlight) {
  std::optional<Compiled> rung = compiled_rung("tensor/async4", 256, DType::f16);
  if (!rung)
    GTEST_SKIP() << "needs NVRTC";
  Timeline line = timeline(rung->analysis.kernels[0], rung->analysis.gpu, rung->lines);
  auto has = [&](TimelineKind kind, const std::string &unit) {
    return std::ranges::any_of(
        line.events, [&](const TimelineEvent &event) { return event.kind == kind && event.unit == unit; });
  };
  EXPECT_TRUE(has(TimelineKind::flight, "async copy"));
  EXPECT_TRUE(has(TimelineKind::unit, "matrix"));
  EXPECT_TRUE(has(TimelineKind::unit, "ldmatrix"));
}

/// The role fills all slots at once, and then each slot when the main role has freed it.
TEST(Timeline, OfRolesHasTheirFills) {
  const char *const names[] = {"hopper/roles", "hopper/bf16", "hopper/tma"};
  for (const char *name : names) {
    SCOPED_TRACE(name);
    const bool units = std::string(name) != "hopper/roles", bulk = std::string(name) == "hopper/tma";
    std::optional<Compiled> rung = compiled_rung(name, 1024, units ? DType::bf16 : DType::f32, "sm_90a");
    if (!rung)
      GTEST_SKIP() << "needs NVRTC";
    const KernelAnalysis &analysis = rung->analysis.kernels[0];
    const kernel::Kernel &kernel = analysis.kernel;
    ASSERT_EQ(kernel.roles.size(), 2U);
    const auto slots = static_cast<std::size_t>(kernel.channels[0].slots);
    const Timeline line = timeline(analysis, rung->analysis.gpu, rung->lines);
    EXPECT_EQ(line.warps, kernel.roles[0].warps);
    EXPECT_EQ(line.other_warps, kernel.roles[1].warps);
    std::vector<double> ends; // of the iterations of the main loop: the last warp of the block
    for (const TimelineEvent &event : line.events)
      if (event.kind == TimelineKind::iteration && line.tracks[event.track].group == 1 &&
          event.name.starts_with(line.loop + ", iteration ")) {
        const auto iteration = std::stoul(event.name.substr(line.loop.size() + 12));
        ends.resize(std::max(ends.size(), iteration + 1));
        ends[iteration] = std::max(ends[iteration], event.to);
      }
    ASSERT_EQ(ends.size(), static_cast<std::size_t>(line.executed));
    std::vector<std::string> tracks;
    for (std::size_t track = 0; track < line.tracks.size(); ++track) {
      if (line.tracks[track].group != 1)
        continue;
      const std::size_t warp = tracks.size();
      tracks.push_back(line.tracks[track].name);
      if (warp < static_cast<std::size_t>(line.warps))
        continue;
      std::vector<double> begins;
      double waited = 0;
      for (const TimelineEvent &event : line.events) {
        if (event.track != track)
          continue;
        EXPECT_LE(event.to, line.clocks);
        if (event.kind == TimelineKind::stall) {
          EXPECT_EQ(event.name, "wait: free slot");
          EXPECT_EQ(event.from, waited);
          waited = event.to;
          continue;
        }
        ASSERT_EQ(event.kind, TimelineKind::flight);
        EXPECT_EQ(event.name, "fill " + std::to_string(begins.size()) + " in slot " +
                                  std::to_string(begins.size() % slots) + ": A_shared, B_shared");
        begins.push_back(event.from);
      }
      if (bulk && warp > static_cast<std::size_t>(line.warps)) {
        EXPECT_TRUE(begins.empty()) << "one thread of the first warp starts the copies";
        continue;
      }
      ASSERT_GT(begins.size(), slots);
      EXPECT_EQ(waited, begins.back());
      for (std::size_t n = 0; n < begins.size(); ++n) {
        const bool at_once = n < slots;
        EXPECT_TRUE(at_once ? begins[n] == 0 : std::ranges::find(ends, begins[n]) != ends.end()) << n;
        EXPECT_TRUE(at_once || begins[n] > begins[n - 1]) << n;
      }
    }
    ASSERT_EQ(tracks.size(), static_cast<std::size_t>(line.warps + line.other_warps));
    EXPECT_EQ(tracks[0], "warp 0, main role");
    EXPECT_EQ(tracks[static_cast<std::size_t>(line.warps)],
              "warp " + std::to_string(line.warps) + ", role 1: fills A_shared, B_shared");
    EXPECT_EQ(tracks.back(), "warp " + std::to_string(line.warps + line.other_warps - 1) +
                                 (bulk ? ", role 1: no work" : ", role 1: fills A_shared, B_shared"));
  }
}

TEST(Timeline, WithoutMachineCodeIsRefused) {
  KernelAnalysis analysis;
  analysis.kernel.name = "gemm";
  try {
    timeline(analysis, find_gpu("H200"), {});
    FAIL() << "accepted";
  } catch (const UserError &error) {
    EXPECT_EQ(error.code(), ExitCode::no_device);
    EXPECT_NE(std::string(error.what()).find("a time line needs the machine code of gemm"), std::string::npos);
  }
}

TEST(SourceLines, OfAFileWithoutATableAreEmpty) {
  EXPECT_TRUE(source_lines({}, "gemm").empty());
  EXPECT_TRUE(source_lines(std::vector<char>(300, '\1'), "gemm").empty());
}

} // namespace
} // namespace nestsmith::model
