/// Tests the model of the machine code: decoding, the clocks of an SM, and the estimated time.

#include "runtime/model/analyse.h"
#include "runtime/model/estimate.h"

#include "codegen/cuda.h"
#include "lowering/lower.h"
#include "runtime/cuda/nvrtc.h"
#include "schedules/rung.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace nestsmith::model {
namespace {

Instruction of(Unit unit, int bytes = 0) {
  Instruction result;
  result.unit = unit;
  result.bytes = bytes;
  return result;
}

/// Returns an FFMA whose last operand is the addend.
Instruction ffma(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t reuse = 0) {
  Instruction result = of(Unit::fp32);
  result.ffma = true;
  result.operands = {a, b, c};
  result.reuse = reuse;
  return result;
}

Instruction waits_for(Instruction instruction, int scoreboard) {
  instruction.waits = static_cast<std::uint8_t>(1 << scoreboard);
  return instruction;
}

Instruction writes(Instruction instruction, std::uint8_t scoreboard) {
  instruction.written = scoreboard;
  return instruction;
}

std::vector<Instruction> repeated(const std::vector<Instruction> &part, int times) {
  std::vector<Instruction> all;
  for (int n = 0; n < times; ++n)
    all.insert(all.end(), part.begin(), part.end());
  all.push_back(of(Unit::exit));
  return all;
}

double clocks(const std::vector<Instruction> &code, int warps, int blocks = 1,
              const AccessClocks &access = {}) {
  SmWork work;
  work.code = &code;
  work.warps = warps;
  work.blocks = blocks;
  work.access = access;
  return sm_clocks(work);
}

/// Returns a load, and an instruction that waits for its result.
std::vector<Instruction> load_and_use(Unit unit) {
  return {writes(of(unit, 4), 0), waits_for(ffma(1, 2, 4), 0)};
}

Instruction branch_to(std::int64_t target) {
  Instruction result = of(Unit::branch);
  result.target = target;
  return result;
}

TEST(MachineCode, HasTheBytesOfItsInnerLoops) {
  std::vector<Instruction> code(100, of(Unit::other));
  code.push_back(branch_to(10)); // 91 instructions
  code.insert(code.end(), 70, of(Unit::other));
  code.push_back(branch_to(168)); // 4: too small
  code.push_back(branch_to(101)); // 72
  code.push_back(branch_to(0));   // contains the others
  code.push_back(of(Unit::exit));
  const CodeBytes bytes = bytes_of(code);
  EXPECT_EQ(bytes.all, 16 * code.size());
  EXPECT_EQ(bytes.loops, (std::vector<std::size_t>{16 * 91, 16 * 72}));
  EXPECT_EQ(bytes_of({}).all, 0U);
}

TEST(Pipeline, MoreWarpsHideTheLatency) {
  auto code = repeated(load_and_use(Unit::shared_load), 20);
  double one = clocks(code, 4), four = clocks(code, 16);
  EXPECT_GT(one, 20 * 29);
  EXPECT_LT(four, 4 * one / 2) << "four times the work takes less than twice the time";
}

TEST(Pipeline, ALoadBeforeItsUseCostsLess) {
  auto code = load_and_use(Unit::global_load);
  std::vector<Instruction> early = {code[0]}, late;
  std::vector<Instruction> work = repeated({ffma(1, 2, 4)}, 100);
  work.pop_back();
  early.insert(early.end(), work.begin(), work.end());
  early.push_back(code[1]);
  late = work;
  late.insert(late.end(), code.begin(), code.end());
  AccessClocks access{.global_latency = 300};
  EXPECT_GT(clocks(late, 4, 1, access), clocks(early, 4, 1, access) + 50);
}

TEST(Pipeline, SharedMemoryServesOneWavefrontPerClock) {
  auto code = repeated({of(Unit::shared_load, 16)}, 50);
  double two = clocks(code, 16, 1, {.shared_load = {{16, 2}}}),
         four = clocks(code, 16, 1, {.shared_load = {{16, 4}}});
  EXPECT_GE(two, 16 * 50 * 2);
  EXPECT_GE(four, 16 * 50 * 4);
  EXPECT_LT(two, four);
}

TEST(Pipeline, AllSchedulersShareThePipeOfSharedMemory) {
  auto code = repeated({of(Unit::shared_load, 16)}, 50);
  AccessClocks access{.shared_load = {{16, 4}}};
  EXPECT_NEAR(clocks(code, 16, 1, access), 4 * clocks(code, 4, 1, access), 0.05 * clocks(code, 16, 1, access));
}

TEST(Pipeline, OperandsOfOneBankDelayFfma) {
  double separate = clocks(repeated({ffma(1, 2, 4)}, 200), 16);
  double same = clocks(repeated({ffma(2, 4, 6)}, 200), 16);
  double kept = clocks(repeated({ffma(2, 5, 6, 1)}, 200), 16),
         not_kept = clocks(repeated({ffma(2, 5, 6)}, 200), 16);
  EXPECT_GT(same, 1.3 * separate);
  EXPECT_LT(kept, not_kept) << "the reuse flag saves a read";
}

TEST(Pipeline, ABarrierWaitsForTheSlowestWarpOfTheBlock) {
  std::vector<Instruction> part = load_and_use(Unit::shared_load);
  std::vector<Instruction> with = part;
  with.push_back(of(Unit::barrier));
  EXPECT_GT(clocks(repeated(with, 20), 8), clocks(repeated(part, 20), 8));
  EXPECT_LT(clocks(repeated(with, 20), 4, 4), 4 * clocks(repeated(with, 20), 4))
      << "other blocks continue at a barrier";
}

TEST(Pipeline, AMatrixUnitExecutesOneInstructionAtATime) {
  auto code = repeated({of(Unit::matrix)}, 100);
  SmWork work;
  work.code = &code;
  work.warps = 8;
  work.matrix_clocks = 6.4;
  EXPECT_NEAR(sm_clocks(work), 2 * 100 * 6.4, 20) << "two warps for each of four schedulers";
}

TEST(Pipeline, LdmatrixTakesAWavefrontForEachMatrix) {
  auto code = repeated({of(Unit::ldmatrix, 16)}, 50);
  EXPECT_GE(clocks(code, 16), 16 * 50 * 4);
  EXPECT_GE(clocks(code, 16, 1, {.ldmatrix = {{16, 16}}}), 16 * 50 * 16) << "with bank conflicts";
}

/// Each step copies a tile, waits until at most `pending` tiles are in flight, and computes. More tiles in
/// flight must reduce the time.
TEST(Pipeline, TilesInFlightHideTheLatency) {
  auto clocks_of = [](int pending) {
    Instruction wait = of(Unit::wait);
    wait.pending = pending;
    std::vector<Instruction> step = {of(Unit::async_copy, 16), of(Unit::commit), wait};
    Instruction slow = of(Unit::other);
    slow.stall = 10;
    step.insert(step.end(), 10, slow);
    return clocks(repeated(step, 20), 4, 1, {.global_latency = 300});
  };
  double none = clocks_of(0), one = clocks_of(1), three = clocks_of(3);
  EXPECT_GT(none, 20 * 380) << "each step waits for its own tile";
  EXPECT_LT(one, none - 19 * 50);
  EXPECT_LT(three, 20 * 100 + 400) << "only the computation remains";
}

TEST(Pipeline, LongLoopsAreFetchedAgain) {
  auto clocks_of_loop = [](int length, std::int64_t iterations) {
    std::vector<Instruction> code = repeated({of(Unit::other)}, length);
    code.insert(code.end() - 1, of(Unit::branch));
    SmWork work;
    work.code = &code;
    work.loops = {{0, static_cast<std::size_t>(length)}};
    work.iterations = {iterations};
    work.warps = 4;
    return sm_clocks(work) / static_cast<double>(length * iterations);
  };
  EXPECT_LT(clocks_of_loop(1000, 40), 0.7 * clocks_of_loop(4000, 10));
}

/// Without the cost that delays a code, the code takes less time. Without another cost, it does not.
TEST(Pipeline, ACostThatIsLeftOutTakesNoTime) {
  auto clocks_without = [](const std::vector<Instruction> &code, const LeftOut &left_out, int warps = 16) {
    SmWork work;
    work.code = &code;
    work.warps = warps;
    work.access.global_latency = 300;
    work.left_out = left_out;
    return sm_clocks(work);
  };
  auto loads = repeated(load_and_use(Unit::global_load), 20);
  EXPECT_GT(clocks_without(loads, {}), 20 * 300);
  EXPECT_LT(clocks_without(loads, {.latency = true}), 20 * 20);
  EXPECT_EQ(clocks_without(loads, {.barriers = true, .banks = true}), clocks_without(loads, {}));
  auto banks = repeated({ffma(2, 4, 6)}, 200);
  EXPECT_GT(clocks_without(banks, {}), 1.3 * clocks_without(banks, {.banks = true}));
  auto barriers = repeated({of(Unit::barrier), of(Unit::other)}, 100);
  EXPECT_GT(clocks_without(barriers, {}), 3 * clocks_without(barriers, {.barriers = true}));
  auto straight = repeated({of(Unit::other)}, 2000);
  EXPECT_GT(clocks_without(straight, {}, 4), 1.3 * clocks_without(straight, {.fetch = true}, 4));
}

TEST(LoopCounts, AgreeWithTheCountsOfOneWarp) {
  auto branch = [](std::int64_t target) {
    Instruction result = of(Unit::branch);
    result.predicated = true;
    result.target = target;
    return result;
  };
  // FFMA; outer loop: barrier; inner loop: two FFMA; branch to inner; branch to outer; exit
  std::vector<Instruction> code = {ffma(1, 2, 3), of(Unit::barrier), ffma(1, 2, 3), ffma(1, 2, 3),
                                   branch(2),     branch(1),         of(Unit::exit)};
  LoopCounts counts = loop_counts(code, 5 * 3 * 2, 5);
  ASSERT_EQ(counts.loops.size(), 2U);
  EXPECT_EQ(counts.main, 0U);
  EXPECT_EQ(counts.iterations[0], 5);
  EXPECT_EQ(counts.iterations[1], 3);
  // As the waves of a persistent kernel: both loops have a barrier.
  std::vector<Instruction> waves = {of(Unit::barrier), ffma(1, 2, 3), of(Unit::barrier), ffma(1, 2, 3),
                                    ffma(1, 2, 3),     branch(2),     branch(0),         of(Unit::exit)};
  counts = loop_counts(waves, 4 * (1 + 10 * 2), 4 * (1 + 10));
  EXPECT_EQ(counts.iterations, (std::vector<double>{4, 10}));
  std::vector<Instruction> single = {ffma(1, 2, 3), ffma(1, 2, 3), branch(1), of(Unit::exit)};
  EXPECT_EQ(loop_counts(single, 8, 0).iterations.front(), 7);
  EXPECT_EQ(loop_counts({of(Unit::exit)}, 8, 0).main, 0U);
  std::vector<Instruction> products = {of(Unit::matrix), ffma(1, 2, 3), branch(0), ffma(1, 2, 3),
                                       of(Unit::exit)};
  EXPECT_EQ(loop_counts(products, 8, 0).iterations.front(), 8) << "of the products";
}

/// As the code of a softmax: the maximum, the sum, and the results each read the row again.
TEST(LoopCounts, OfSeveralPassesAccountForTheLoads) {
  auto back_to = [](std::int64_t target) {
    Instruction result = of(Unit::branch);
    result.predicated = true;
    result.target = target;
    return result;
  };
  const Instruction load = of(Unit::global_load);
  std::vector<Instruction> code = {load, load,          back_to(0),    load,       ffma(1, 2, 3), back_to(3),
                                   load, ffma(1, 2, 3), ffma(1, 2, 3), back_to(6), of(Unit::exit)};
  LoopCounts counts = loop_counts(code, 40, 0, 3 * 16);
  ASSERT_EQ(counts.loops.size(), 3U);
  auto iterations = [&](std::size_t begin) {
    auto at = std::ranges::find(counts.loops, begin, &CodeLoop::begin);
    return counts.iterations[static_cast<std::size_t>(at - counts.loops.begin())];
  };
  EXPECT_EQ(iterations(0), 8) << "two loads in an iteration";
  EXPECT_EQ(iterations(3), 16);
  EXPECT_EQ(iterations(6), 16);
  EXPECT_EQ(counts.loops[counts.main].begin, 6U);
  std::vector<std::int64_t> part = counts.part(4);
  std::ranges::sort(part);
  EXPECT_EQ(part, (std::vector<std::int64_t>{2, 4, 4}));

  LoopCounts explained = loop_counts(code, 41, 0, 24);
  EXPECT_EQ(explained.iterations[explained.main], 20) << "the arithmetic accounts for the loads";
  EXPECT_TRUE(explained.passes.empty());

  EXPECT_EQ(loop_counts(code, 1, 0, 48).iterations[explained.main], 16) << "less arithmetic than outside of it";

  std::vector<Instruction> copies = {load, of(Unit::global_store), back_to(0), of(Unit::exit)};
  EXPECT_EQ(loop_counts(copies, 0, 0, 7).iterations.front(), 7) << "without arithmetic";
}

TEST(WaveShapes, APartialWaveIsAWaveOfItsOwn) {
  auto shapes = [](std::int64_t blocks) {
    Waves waves;
    waves.blocks = blocks;
    waves.in_wave = 200;
    return wave_shapes(waves, 2, 100);
  };
  ASSERT_EQ(shapes(400).size(), 1U);
  EXPECT_EQ(shapes(400)[0].times, 2);
  ASSERT_EQ(shapes(401).size(), 2U);
  EXPECT_EQ(shapes(401)[1].blocks, 1) << "one SM has one block, and this takes the time of a block";
  EXPECT_EQ(shapes(350)[1].blocks, 2);
  EXPECT_EQ(shapes(60)[0].blocks, 1);
}

/// The loops of a compiled product, for each architecture with another encoding of branches.
class MachineCode : public testing::TestWithParam<const char *> {};

TEST_P(MachineCode, OfACompiledKernelIsRead) {
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  auto rung = std::ranges::find(builtin_rungs(), "worklog/5", &Rung::full_name);
  ASSERT_NE(rung, builtin_rungs().end());
  Schedule schedule = rung->build({1024, 1024, 1024}, DType::f32, Target{.arch = {90}});
  kernel::Plan plan = lower(schedule);
  std::string name = entry_name(plan.only());
  cuda::Compiled compiled = nvrtc->compile(cuda_kernel(plan.only()), name, GetParam());
  std::vector<Instruction> code = machine_code(compiled.cubin, name);
  std::vector<CodeLoop> found = loops(code);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front().barriers, 2);
  EXPECT_EQ(found.front().fp32 % 64, 0) << "8 x 8 results for each k";
  EXPECT_GT(std::ranges::count(code, Unit::shared_load, &Instruction::unit), 0);
  EXPECT_TRUE(machine_code(compiled.cubin, "other").empty());
  EXPECT_TRUE(machine_code({}, name).empty());

  const Gpu &gpu = find_gpu("H200");
  PlanAnalysis known = analyse(schedule.source(), plan, gpu, {compiled});
  EXPECT_GT(known.estimated_seconds(), known.seconds());
  for (Loss loss : all_losses)
    EXPECT_GE(known.kernels[0].losses.of(loss), 1) << nestsmith::name(loss);
  EXPECT_NEAR(known.kernels[0].losses.imbalance, gpu.sms / 64.0, 0.1) << "64 blocks";
  EXPECT_EQ(known.kernels[0].largest_loss(), Loss::imbalance);
  compiled.cubin.clear();
  PlanAnalysis unknown = analyse(schedule.source(), plan, gpu, {compiled});
  EXPECT_EQ(unknown.estimated_seconds(), unknown.seconds()) << "without machine code, the bounds";
  EXPECT_EQ(unknown.kernels[0].losses.latency, 1);
  EXPECT_NEAR(unknown.kernels[0].losses.imbalance, gpu.sms / 64.0, 1e-6);
}

/// Returns the machine code of a rung for f16.
std::vector<Instruction> code_of(const cuda::Nvrtc &nvrtc, const char *name, const char *arch) {
  auto rung = std::ranges::find(builtin_rungs(), name, &Rung::full_name);
  kernel::Plan plan = lower(rung->build({1024, 1024, 1024}, DType::f16, Target{.arch = {80}}));
  std::string entry = entry_name(plan.only());
  return machine_code(nvrtc.compile(cuda_kernel(plan.only()), entry, arch).cubin, entry);
}

std::set<int> bytes_of(const std::vector<Instruction> &code, Unit unit) {
  std::set<int> bytes;
  for (const Instruction &instruction : code)
    if (instruction.unit == unit)
      bytes.insert(instruction.bytes);
  return bytes;
}

TEST_P(MachineCode, OfMatrixUnitsIsRead) {
  const cuda::Nvrtc *nvrtc = nullptr;
  try {
    nvrtc = &cuda::Nvrtc::get();
  } catch (const UserError &error) {
    GTEST_SKIP() << "needs NVRTC: " << error.what();
  }
  std::vector<Instruction> code = code_of(*nvrtc, "tensor/async4", GetParam());
  auto count = [&](Unit unit) { return std::ranges::count(code, unit, &Instruction::unit); };
  EXPECT_GT(count(Unit::matrix), 0);
  EXPECT_GT(count(Unit::async_copy), 0);
  EXPECT_GT(count(Unit::commit), 0);
  std::set<int> pending;
  for (const Instruction &instruction : code)
    if (instruction.unit == Unit::wait)
      pending.insert(instruction.pending);
  EXPECT_EQ(pending, (std::set{2})) << "two of the three tiles in flight";
  EXPECT_EQ(bytes_of(code, Unit::ldmatrix), (std::set{16})) << "four matrices of A or of B";
  EXPECT_EQ(bytes_of(code_of(*nvrtc, "tensor/swizzled", GetParam()), Unit::ldmatrix), (std::set{8, 16}))
      << "two matrices of B and four of A";
}

INSTANTIATE_TEST_SUITE_P(Architectures, MachineCode, testing::Values("sm_80", "sm_90", "sm_120"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace nestsmith::model
