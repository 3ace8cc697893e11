/// Lowers the schedules of the small world of tests/dsl/small_world.h. A schedule without obligations must give
/// the exact result on the simulator, without a diagnostic.

#include "lowering/lower.h"
#include "runtime/check/sim_executor.h"
#include "tests/dsl/small_world.h"

#include <gtest/gtest.h>
#include <random>

namespace nestsmith {
namespace {

using test::Attempt;
using test::moves_of;

/// Returns a fault of the kernel of a schedule without obligations, or none.
std::optional<std::string> fault(const Schedule &schedule, const std::vector<Array> &expected) {
  try {
    Attempt::note(schedule, "lower");
    kernel::Plan plan = lower(schedule);
    test::Values values = test::make_values(schedule.source());
    sim::Options options;
    options.host_threads = 1;
    Execution execution = SimExecutor(options).run(plan, values.arrays, values.scalars);
    if (!execution.diagnostics.empty())
      return execution.diagnostics.front() + "\n" + kernel::print(plan);
    for (std::size_t n = 0; n < expected.size(); ++n)
      if (!(values.arrays[n] == expected[n]))
        return schedule.source().params[n]->name + " is wrong\n" + kernel::print(plan);
  } catch (const UserError &error) {
    return std::string("lowering refused what owes nothing: ") + error.what();
  }
  return std::nullopt;
}

void expect_good_kernel(const Schedule &schedule, const std::vector<Array> &expected) {
  if (auto what = fault(schedule, expected))
    ADD_FAILURE() << *what << "\n" << test::trace_text(schedule) << print(schedule.program());
}

TEST(SmallWorld, EveryScheduleThatOwesNothingGivesAGoodKernel) {
  Program program = test::product(3, 5, 4);
  std::vector<Array> expected = test::results_of(program);
  std::size_t lowered = 0, owing = 0;
  test::for_each_schedule(program, 2, [&](const Schedule &schedule) {
    if (!schedule.obligations().empty()) {
      ++owing;
      return;
    }
    ++lowered;
    expect_good_kernel(schedule, expected);
  });
  EXPECT_GT(lowered, 100U);
  EXPECT_GT(owing, 100U);
}

/// Returns the program at the start of the walk with this seed.
Program program_of(std::mt19937 &random) {
  auto extent = [&] { return std::array{1, 2, 3, 4, 4, 4, 5, 6}[random() % 8]; };
  int m = extent(), n = extent(), k = extent();
  switch (random() % 4) {
  case 0:
    return test::chain(m, n);
  case 1:
    return test::broadcast(m, n, k);
  case 2:
    return test::stencil(m);
  default:
    return test::gemm(m, n, k);
  }
}

/// Applies a random legal move. If `kind` is not empty, the move is of this kind.
void step(Schedule &schedule, std::mt19937 &random, const std::string &kind) {
  std::vector<Directive> moves = moves_of(schedule);
  std::map<std::string, std::vector<const Directive *>> by_kind;
  for (const Directive &move : moves)
    by_kind[move.op].push_back(&move);
  for (int tries = 0; tries < 12; ++tries) {
    auto chosen = kind.empty()
                      ? std::next(by_kind.begin(), static_cast<std::ptrdiff_t>(random() % by_kind.size()))
                      : by_kind.find(kind);
    if (chosen == by_kind.end() || test::apply(schedule, *chosen->second[random() % chosen->second.size()]))
      return;
  }
}

/// The walks first cache and fuse, then move blocks together, and then bind. In this order, many schedules end
/// without obligations.
TEST(RandomWalks, GiveGoodKernels) {
  std::size_t lowered = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    Schedule schedule(program_of(random));
    std::vector<Array> expected = test::results_of(schedule.source());
    for (const Buffer &temporary : temporaries(schedule.program()))
      for (const Block *block : blocks_of(schedule.program().body))
        if (block->body.buffer == temporary) {
          schedule.set_scope({block->id}, random() % 3 ? Scope::shared : Scope::local);
          break;
        }
    auto together = [&] { return random() % 2 ? "compute_at" : "reverse_compute_at"; };
    for (std::size_t n = random() % 7; n > 0; --n)
      step(schedule, random, random() % 3 == 0 ? together() : "");
    for (int n = 0; n < 3; ++n)
      step(schedule, random, together());
    for (int n = 0; n < 5; ++n) {
      step(schedule, random, "bind");
      if (!schedule.obligations().empty())
        continue;
      ++lowered;
      expect_good_kernel(schedule, expected);
    }
    EXPECT_TRUE(test::same_meaning(schedule)) << "seed " << seed << "\n" << test::trace_text(schedule);
  }
  EXPECT_GT(lowered, 500U);
}

} // namespace
} // namespace nestsmith
