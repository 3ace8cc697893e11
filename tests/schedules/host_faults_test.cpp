/// Tests that the host run of emitted texts reports errors. Each text has one seeded error.

#include "codegen/emit.h"
#include "dsl/ir/tensor.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "runtime/check/stored_array.h"
#include "schedules/register_tiles.h"
#include "schedules/rung.h"
#include "schedules/workloads.h"
#include "tests/codegen/host_text.h"
#include "tests/schedules/rung.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits>

namespace nestsmith {
namespace {

/// Replaces the `count`th occurrence of `from` in the text by `to`.
struct Fault {
  const char *what, *from, *to;
  int count = 1;
  const char *report = ""; ///< part of the report; "": no report, but wrong results
};

host::Run launch(const Schedule &schedule) {
  const Program &source = schedule.source();
  Inputs inputs = make_inputs(source, CheckRun::ring, 1);
  host::Run run{.plan = lower(schedule), .arrays = {}, .scalars = inputs.scalars};
  for (std::size_t n = 0; n < source.params.size(); ++n)
    run.arrays.push_back(StoredArray(source.params[n]).spread(inputs.arrays[n], filler_of(source.params[n])));
  return run;
}

std::vector<Array> simulated(const host::Run &run) {
  std::vector<Array> arrays = run.arrays;
  SimExecutor simulator;
  EXPECT_TRUE(simulator.run(run.plan, arrays, run.scalars).diagnostics.empty());
  return arrays;
}

std::string seeded(std::string text, const Fault &fault) {
  std::size_t at = std::string::npos;
  for (int n = 0; n < fault.count; ++n)
    at = text.find(fault.from, at + 1);
  if (at == std::string::npos)
    throw std::runtime_error(fmt::format("'{}' is not {} times in\n{}", fault.from, fault.count, text));
  return text.replace(at, std::string(fault.from).size(), fault.to);
}

/// Expects that each error is reported as stated in at least one order of threads, and that the unchanged text
/// gives the results of the simulator.
void expect_reported(const host::Run &right, const std::vector<Fault> &faults) {
  const std::string text = emit({}, right.plan);
  std::vector<host::Run> runs;
  for (bool backwards : {false, true}) {
    runs.push_back(right);
    runs.back().backwards = backwards;
    for (const Fault &fault : faults) {
      runs.push_back(right);
      runs.back().backwards = backwards;
      runs.back().text = seeded(text, fault);
    }
  }
  std::vector<host::Outcome> outcomes = host::run(runs);
  std::size_t half = faults.size() + 1;
  EXPECT_EQ(outcomes[0].fault + outcomes[half].fault, "");
  EXPECT_EQ(outcomes[0].arrays, simulated(right));
  EXPECT_EQ(outcomes[0].arrays, outcomes[half].arrays);
  for (std::size_t n = 0; n < faults.size(); ++n) {
    const host::Outcome &forwards = outcomes[n + 1], &backwards = outcomes[half + n + 1];
    std::string reports = forwards.fault + "\n" + backwards.fault;
    if (std::string(faults[n].report).empty())
      EXPECT_TRUE(reports == "\n" &&
                  (forwards.arrays != outcomes[0].arrays || backwards.arrays != outcomes[0].arrays))
          << faults[n].what << " was not noticed; " << reports;
    else
      EXPECT_NE(reports.find(faults[n].report), std::string::npos) << faults[n].what << " gave\n" << reports;
  }
}

using test::rung;

TEST(SeededFault, InATextOfScalarsIsReported) {
  NEEDS_SANITIZERS();
  expect_reported(
      launch(rung("deep_dive/shared").build({33, 35, 36}, DType::u32, Target{})),
      {{"the barrier after the tiles are written", "__syncthreads();", ""},
       {"the barrier after the tiles are read", "__syncthreads();", "", 2},
       {"a barrier of warps in the place of one of the block", "__syncthreads();", "__syncwarp();"},
       {"a barrier that one thread leaves out", "__syncthreads();", "if (tid != 5) __syncthreads();", 1,
        "barrier in divergent flow: thread (0, 0, 0) of block (0, 0, 0) waits at __syncthreads of line"},
       {"a thread that ends early", "unsigned int AB = 0u;", "unsigned int AB = 0u; if (tid == 7) return;", 1,
        "thread (7, 0, 0) has ended"},
       {"a sum without its start", "AB = 0u;", "AB;"},
       {"a tile that is written one further", "A_shared[tid] =", "A_shared[tid + 1] =", 1,
        "runtime error: index 1024 out of bounds for type"},
       {"a tile that is read one before", "A_shared[tid / 32 * 32 + k_inner]",
        "A_shared[tid / 32 * 32 + k_inner - 1]", 1, "runtime error: index -1 out of bounds for type"},
       {"a tile too small", "A_shared[32 * 32];", "A_shared[32 * 31];", 1, "out of bounds for type"},
       {"a tail of i that is read", "i < 33 && A_k < 36 ?", "A_k < 36 ?", 1, "heap-buffer-overflow"},
       {"a tail of k that is read", "A_k < 36 ? A[", "true ? A[", 1, "heap-buffer-overflow"},
       {"a tail that is written", "if (i < 33 && j < 35)", "if (j < 35)", 1, "heap-buffer-overflow"},
       {"an index past 32 bits", "i * 35 + j] = alpha", "(i + 214748364) * 35 + j] = alpha", 1,
        "runtime error: signed integer overflow"},
       {"a k tile left out", "k_outer < 2;", "k_outer < 1;"},
       {"more threads than a block has", ", 1024, 0, stream", ", 1056, 0, stream", 1,
        "the launcher returned error"}});
}

TEST(SeededFault, InATextOfVectorsIsReported) {
  NEEDS_SANITIZERS();
  expect_reported(
      launch(rung("ladder/vectors").build({132, 136, 28}, DType::u32, Target{})),
      {{"a vector of global memory off its alignment", "(&A[A_i * 28 + A_k])", "(&A[A_i * 28 + A_k + 1])", 1,
        "runtime error: reference binding to misaligned address"},
       {"a vector of shared memory off its alignment", "*reinterpret_cast<uint4 *>(&B_shared[tid / 32 * 128",
        "*reinterpret_cast<uint4 *>(&B_shared[2 + tid / 32 * 128", 1, "misaligned address"},
       {"an array of registers that is read one further", "AB[i_2 * 8 + j_2] = 0u",
        "AB[i_2 * 8 + j_2 + 1] = 0u", 1, "runtime error: index 64 out of bounds for type 'unsigned int [64]'"},
       {"registers that are read before they are written", "AB[i_2 * 8 + j_2] = 0u;",
        "if (i_2 > 0) AB[i_2 * 8 + j_2] = 0u;"},
       {"a vector across the end of an array", "A_k < 28 ? *", "A_k < 32 ? *", 1, "heap-buffer-overflow"}});
}

/// Y[i] is the sum of row i of X. 3 warps add the elements: by shuffles, and then through shared memory.
Schedule rows_by_warps() {
  Workload w("rows");
  Tensor x = w.placeholder("X", {5, 300}, DType::u32);
  Reduce k = reduce_axis("k", 300);
  Schedule s(w.output({w.compute("Y", {5}, {"i"}, [&](Expr i) { return sum(x(i, k), k); })}));
  BlockRef Y = s.block("Y");
  s.bind(s.loops(Y)[0], Axis::block_x);
  s.reduce_across(s.split<2>(s.loops(Y).back(), {infer, 96})[1], Axis::thread_x);
  return s;
}

TEST(SeededFault, InTheShufflesOfAReductionIsReported) {
  NEEDS_SANITIZERS();
  host::Run run = launch(rows_by_warps());
  run.shuffles = true;
  expect_reported(run, {{"a lane left out of the mask", "0xffffffffu, total", "0xfffffffeu, total", 1,
                         "is missing from its mask 0xfffffffe"},
                        {"a lane that makes no shuffle", "  warp_sum(", "  if (threadIdx.x != 37) warp_sum(", 1,
                         "barrier in divergent flow"},
                        {"the largest distance left out", "distance = 16;", "distance = 8;"},
                        {"a distance past the warp", "distance = 16;", "distance = 32;", 1,
                         "takes the value of lane 32, which the warp does not have"}});
}

TEST(SeededFault, InSharedMemoryThatTheLaunchNamesIsReported) {
  NEEDS_SANITIZERS();
  Schedule schedule(gemm({65, 66, 130}, DType::u32), make_target("sm_80"));
  register_tiles(schedule, {.results = 4, .k = 128, .unroll_k = false});
  expect_reported(
      launch(schedule),
      {{"one array that runs into the next", "A_shared[", "A_shared[8192 + ", 1, "heap-buffer-overflow"},
       {"an array below the first", "A_shared[", "A_shared[-1 + ", 1, "heap-buffer-overflow"},
       {"an array past the memory", "B_shared[", "B_shared[8192 + ", 1, "heap-buffer-overflow"},
       {"less memory than it takes", ", 65536, stream", ", 65532, stream", 1,
        "a shared array ends at byte 65536, but the launch names 65532"},
       {"memory that the kernel is not allowed", "MaxDynamicSharedMemorySize,\n",
        "MaxDynamicSharedMemorySize, -60000 +\n", 1, "the launcher returned error"}});
}

constexpr std::int64_t length = 40;

/// Binds each element, or each row, of the block to one thread.
void spread(Schedule &s, const char *block) {
  auto [outer, inner] = s.split(s.loops(s.block(block)).front(), {infer, 32});
  s.bind(outer, Axis::block_x);
  s.bind(inner, Axis::thread_x);
}

/// i32 data that wraps around, as values and in a mask, and divisions by data.
Schedule integers() {
  Workload w("integers");
  Tensor x = w.placeholder("X", {length}, DType::i32), d = w.placeholder("D", {length}, DType::i32);
  Tensor p = w.placeholder("P", {length}, DType::u64);
  auto stage = [&](const char *name, const std::function<Expr(Expr)> &value) {
    return w.compute(name, {length}, {"i"}, [&](Expr i) -> Definition { return value(i); });
  };
  Tensor next = stage("Next", [&](const Expr &i) { return d.where(x(i) + 2147483647 < x(i), i); });
  Tensor square = stage("Square", [&](const Expr &i) { return x(i) * x(i); });
  Tensor quotient = stage("Quotient", [&](const Expr &i) { return floordiv(x(i), d(i)); });
  Tensor rest = stage("Rest", [&](const Expr &i) { return floormod(x(i), d(i)); });
  Tensor scaled = stage("Scaled", [&](const Expr &i) { return p(i) * int_imm(9007199254740993, DType::u64); });
  Schedule s(w.output({next, square, quotient, rest, scaled}));
  for (const char *block : {"Next", "Square", "Quotient", "Rest", "Scaled"})
    spread(s, block);
  return s;
}

TEST(SeededFault, InATextOfIntegerDataIsReported) {
  NEEDS_SANITIZERS();
  host::Run run = launch(integers());
  run.arrays[0].set(0, Scalar::from_double(DType::i32, std::numeric_limits<std::int32_t>::min()));
  run.arrays[1].set(0, Scalar::from_double(DType::i32, -1));
  run.arrays[1].set(1, Scalar::from_double(DType::i32, 0));
  expect_reported(
      run, {{"a mask in signed arithmetic", "(int)((unsigned int)X[i] + 2147483647u) < X[i]",
             "X[i] + 2147483647 < X[i]", 1, "runtime error: signed integer overflow"},
            {"a mask that is decided", "(int)((unsigned int)X[i] + 2147483647u) < X[i]", "false"},
            {"a product in signed arithmetic", "(int)((unsigned int)X[i] * (unsigned int)X[i])", "X[i] * X[i]",
             1, "runtime error: signed integer overflow"},
            {"a quotient that rounds towards zero", "a / b - (a % b != 0 && (a < 0) != (b < 0))", "a / b"},
            {"a remainder with the sign of the dividend",
             "rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest", "rest"},
            {"a division by 0", "  if (b == 0)\n    return 0;\n", "", 1, "runtime error: division by zero"},
            {"the smallest integer divided by -1", "  if (b == -1)\n    return (int)(0 - (unsigned int)a);\n",
             "", 1, "runtime error: division of -2147483648 by -1 cannot be represented"},
            {"a constant that goes through a double", "9007199254740993ULL",
             "(unsigned long long)9007199254740993.0"}});
}

/// Conversions of numbers that may be out of range.
Schedule conversions() {
  Workload w("conversions");
  Tensor f = w.placeholder("F", {length});
  Schedule s(w.output(
      {w.compute("Narrow", {length}, {"i"}, [&](Expr i) -> Definition { return cast(DType::u16, f(i)); }),
       w.compute("Wide", {length}, {"i"}, [&](Expr i) -> Definition { return cast(DType::i64, f(i)); })}));
  for (const char *block : {"Narrow", "Wide"})
    spread(s, block);
  return s;
}

TEST(SeededFault, InATextOfConversionsIsReported) {
  NEEDS_SANITIZERS();
  host::Run run = launch(conversions());
  run.arrays[0].set(0, Scalar::from_double(DType::f32, 1e6));
  run.arrays[0].set(1, Scalar::from_double(DType::f32, std::numeric_limits<double>::quiet_NaN()));
  expect_reported(
      run,
      {{"a conversion that does not saturate above", "min(__float2uint_rz(x), 65535u)", "__float2uint_rz(x)"},
       {"a conversion that does not saturate below", "min(__float2uint_rz(x), 65535u)", "__float2int_rz(x)"},
       {"a NaN that is converted", "x == x ? __float2ll_rz(x) : 0", "__float2ll_rz(x)"}});
}

TEST(SeededFault, InLeadingDimensionsIsReported) {
  NEEDS_SANITIZERS();
  Workload w("rows");
  Tensor a = w.placeholder("A", {length, 10}, DType::u32, Stored{12});
  Tensor t =
      w.compute("T", {length, 10}, {"i", "j"}, [&](Expr i, Expr j) -> Definition { return a(i, j) + 1; });
  Schedule s(w.output({{t, Stored{16}}}));
  spread(s, "T");
  expect_reported(launch(s), {{"rows that are read without their gaps", "A[i * 12 + j]", "A[i * 10 + j]"},
                              {"rows that are written without their gaps", "T[i * 16 + j]", "T[i * 10 + j]"},
                              {"rows that are read too far apart", "A[i * 12 + j]", "A[i * 16 + j]", 1,
                               "heap-buffer-overflow"}});
}

/// Names that are not declared, declared twice, or reserved by the language.
TEST(SeededFault, ThatTheCompilerReports) {
  NEEDS_SANITIZERS();
  host::Run run = launch(integers());
  const std::string text = emit({}, run.plan);
  for (const Fault &fault :
       {Fault{"a function under another name", "floordiv_i32(int a", "floor_div_i32(int a"},
        {"a variable under another name", "const int i = ", "const int I = "},
        {"a variable that is declared twice", "const int i = ", "const int i = 0, i = "},
        {"a name that C++ takes", "const int i = ", "const int int = "}}) {
    run.text = seeded(text, fault);
    EXPECT_THROW(host::run({run}), std::runtime_error) << fault.what;
  }
}

} // namespace
} // namespace nestsmith
