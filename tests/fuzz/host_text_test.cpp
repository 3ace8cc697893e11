/// Random schedules as text: what codegen prints of them, run on the host under sanitizers, against the
/// simulator.

#include "dsl/specialise.h"
#include "lowering/lower.h"
#include "runtime/blame.h"
#include "runtime/stored_array.h"
#include "tests/codegen/host_text.h"
#include "tests/fuzz/author.h"
#include "tests/schedules/host_compare.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace nestsmith::fuzz {
namespace {

constexpr std::size_t wanted = 50;
/// Block instances of a schedule, and characters of its text: more take too long to run or to compile.
constexpr double most_work = 2e4;
constexpr std::size_t longest_text = 12000;

TEST(EmittedText, OfFiftyRandomSchedulesIsWhatTheSimulatorRuns) {
  if (!host::why_not().empty())
    GTEST_SKIP() << host::why_not();
  std::vector<Subject> subjects;
  for (std::uint64_t seed = 1; subjects.size() < wanted; ++seed) {
    ASSERT_LT(seed, 1000U) << "most schedules are no subjects";
    Draft it = draft(seed);
    const Shape &shape = it.setting.shape;
    std::vector<std::int64_t> sizes;
    if (shape.stated)
      sizes = sizes_for(it.schedule.source(), shape, 3);
    if (it.schedule.trace().size() < 5 || !it.schedule.obligations().empty() ||
        block_instances(specialise(it.schedule.program(), sizes).body) > most_work)
      continue;
    kernel::Plan plan = lower(it.schedule);
    if (kernel::print(plan).size() > longest_text)
      continue;
    subjects.push_back(
        {fmt::format("seed {}", seed), it.schedule, sizes.empty() ? plan : with_sizes(plan, sizes)});
  }
  for (const std::string &problem : differences_on_host(subjects))
    ADD_FAILURE() << problem;
}

} // namespace
} // namespace nestsmith::fuzz
