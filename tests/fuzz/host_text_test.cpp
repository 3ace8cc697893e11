/// Compiles the emitted text of random schedules for the host, runs it under sanitizers, and compares the
/// results with those of the simulator.

#include "codegen/cuda.h"
#include "dsl/ir/specialise.h"
#include "lowering/lower.h"
#include "runtime/check/blame.h"
#include "runtime/check/stored_array.h"
#include "tests/codegen/host_text.h"
#include "tests/fuzz/author.h"
#include "tests/fuzz/judge.h"
#include "tests/schedules/host_compare.h"

#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <optional>

namespace nestsmith::fuzz {
namespace {

constexpr std::size_t wanted = 50;
/// The minimum numbers of subjects with pipelines and with vectors, which most schedules do not have.
constexpr std::size_t wanted_pipelines = 6, wanted_vectors = 8;
/// Limits of the block instances and of the characters of the kernel text. Larger schedules take too long to
/// run or to compile.
constexpr double most_work = 2e4;
constexpr std::size_t longest_text = 12000;

/// A schedule of suitable size, and the features of its kernels.
struct Candidate {
  Subject subject;
  Verdict has;
};

std::optional<Candidate> candidate(std::uint64_t seed) {
  Draft drafted = draft(seed);
  const Shape &shape = drafted.setting.shape;
  std::vector<std::int64_t> sizes;
  if (shape.stated)
    sizes = sizes_for(drafted.schedule.source(), shape, 3);
  if (drafted.schedule.trace().size() < 5 || !drafted.schedule.obligations().empty() ||
      block_instances(specialise(drafted.schedule.program(), sizes).body) > most_work)
    return std::nullopt;
  kernel::Plan plan = lower(drafted.schedule);
  if (kernel::print(plan).size() > longest_text)
    return std::nullopt;
  Verdict has = judge(drafted.schedule, shape);
  if (!sizes.empty())
    plan = with_sizes(plan, sizes);
  try {
    cuda_kernels(plan);
  } catch (const UserError &) { // an intrinsic of a user, such as j1, has the name of a function of CUDA
    return std::nullopt;
  }
  return Candidate{{fmt::format("seed {}", seed), std::move(drafted.schedule), std::move(plan)}, has};
}

TEST(EmittedText, OfFiftyRandomSchedulesIsWhatTheSimulatorRuns) {
  if (!host::why_not().empty())
    GTEST_SKIP() << host::why_not();
  std::vector<Subject> subjects;
  std::size_t shared = 0, pipelines = 0, vectors = 0;
  const char *chosen = std::getenv("NESTSMITH_FIRST_SEED");
  const std::uint64_t first = chosen ? std::stoull(chosen) : 1;
  for (std::uint64_t seed = first; subjects.size() < wanted; ++seed) {
    ASSERT_LT(seed, first + 1000) << "most schedules are no subjects";
    std::optional<Candidate> found = candidate(seed);
    if (!found)
      continue;
    // The last places are reserved for schedules with pipelines and with vectors.
    bool has_room = found->has.pipeline || subjects.size() - pipelines < wanted - wanted_pipelines;
    has_room &= found->has.vector || subjects.size() - vectors < wanted - wanted_vectors;
    if (!has_room)
      continue;
    shared += found->has.shared;
    pipelines += found->has.pipeline;
    vectors += found->has.vector;
    subjects.push_back(std::move(found->subject));
  }
  EXPECT_GE(shared, 20U);
  EXPECT_GE(pipelines, wanted_pipelines);
  EXPECT_GE(vectors, wanted_vectors);
  for (const std::string &problem : differences_on_host(subjects))
    ADD_FAILURE() << problem;
}

} // namespace
} // namespace nestsmith::fuzz
