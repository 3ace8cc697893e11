/// The host run of emitted texts reports what is wrong with them: one seeded fault a text.

#include "codegen/emit.h"
#include "lowering/lower.h"
#include "runtime/check/check.h"
#include "schedules/register_tiles.h"
#include "schedules/rung.h"
#include "schedules/workloads.h"
#include "tests/codegen/host_text.h"
#include "tests/schedules/rung.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace nestsmith {
namespace {

/// The `count`th `from` of the text becomes `to`.
struct Fault {
  const char *what, *from, *to;
  int count = 1;
  const char *report = ""; ///< in what is reported; empty: no report, but wrong results
};

host::Run launch(const Schedule &schedule) {
  Inputs inputs = make_inputs(schedule.source(), CheckRun::ring, 1);
  return {.plan = lower(schedule), .arrays = inputs.arrays, .scalars = inputs.scalars};
}

std::string seeded(std::string text, const Fault &fault) {
  std::size_t at = std::string::npos;
  for (int n = 0; n < fault.count; ++n)
    at = text.find(fault.from, at + 1);
  if (at == std::string::npos)
    throw std::runtime_error(fmt::format("'{}' is not {} times in\n{}", fault.from, fault.count, text));
  return text.replace(at, std::string(fault.from).size(), fault.to);
}

/// Each fault is reported as it says, in one order of threads or the other, and without one all is well.
void expect_reported(const Schedule &schedule, const std::vector<Fault> &faults) {
  const host::Run right = launch(schedule);
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

#define NEEDS_SANITIZERS()                                                                                     \
  if (!host::why_not().empty())                                                                                \
  GTEST_SKIP() << host::why_not()

TEST(SeededFault, InATextOfScalarsIsReported) {
  NEEDS_SANITIZERS();
  expect_reported(
      rung("deep_dive/shared").build({33, 35, 36}, DType::u32, Target{}),
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
      rung("ladder/vectors").build({132, 136, 28}, DType::u32, Target{}),
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

TEST(SeededFault, InSharedMemoryThatTheLaunchNamesIsReported) {
  NEEDS_SANITIZERS();
  Schedule schedule(gemm({65, 66, 130}, DType::u32), make_target("sm_80"));
  register_tiles(schedule, {.results = 4, .k = 128, .unroll_k = false});
  expect_reported(
      schedule,
      {{"one array that runs into the next", "A_shared[", "A_shared[8192 + ", 1, "heap-buffer-overflow"},
       {"an array below the first", "A_shared[", "A_shared[-1 + ", 1, "heap-buffer-overflow"},
       {"an array past the memory", "B_shared[", "B_shared[8192 + ", 1, "heap-buffer-overflow"},
       {"less memory than it takes", ", 65536, stream", ", 65532, stream", 1,
        "a shared array ends at byte 65536, but the launch names 65532"},
       {"memory that the kernel is not allowed", "MaxDynamicSharedMemorySize,\n",
        "MaxDynamicSharedMemorySize, -60000 +\n", 1, "the launcher returned error"}});
}

} // namespace
} // namespace nestsmith
