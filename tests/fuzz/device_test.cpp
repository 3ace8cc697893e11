/// Tests the campaign on a device. The simulator takes the place of the GPU.

#include "dsl/expr/error.h"
#include "runtime/check/sim_executor.h"
#include "tests/files.h"
#include "tests/fuzz/campaign.h"

#include <csignal>
#include <gmock/gmock.h>
#include <unistd.h>

namespace nestsmith::fuzz {
namespace {

using testing::HasSubstr;

/// Simulates each launch, and then does something to the results.
class StandIn : public Device {
public:
  using Harm = std::function<void(std::span<Array>)>;
  explicit StandIn(Harm harm) : Device(1), harm_(std::move(harm)) {}
  std::string_view name() const override { return "a stand-in"; }

private:
  void compile(const kernel::Plan &) override {}
  Execution launch(const kernel::Plan &plan, std::span<Array> arrays,
                   std::span<const Scalar> scalars) override {
    Execution done = simulator_.run(plan, arrays, scalars);
    harm_(arrays);
    return done;
  }

  Harm harm_;
  SimExecutor simulator_;
};

/// A campaign for sm_90a on a stand-in, until it finds `failures`.
Outcome run_on_stand_in(StandIn::Harm harm, std::uint64_t count, std::size_t failures = 1) {
  return run({.first_seed = 1,
              .count = count,
              .arch = "sm_90a",
              .open_device = [harm] { return std::make_unique<StandIn>(harm); },
              .failures = failures});
}

/// The trace of the only failure; it is of the kind of a device.
std::string found_by(const Outcome &outcome) {
  if (outcome.failures.size() != 1)
    return "no failure";
  const Failure &failure = outcome.failures[0];
  EXPECT_EQ(failure.verdict.kind, Kind::wrong_device) << name(failure.verdict.kind);
  EXPECT_EQ(failure.shrunk.arch, "sm_90a");
  EXPECT_EQ(failure.seed + 1, outcome.next_seed);
  EXPECT_GT(failure.shrunk.directives.size(), 0U);
  return failure.verdict.message;
}

TEST(OnADevice, EveryExactScheduleIsExecutedAndCounted) {
  Outcome outcome = run_on_stand_in([](std::span<Array>) {}, 120);
  const CampaignCounts &tally = outcome.tally;
  EXPECT_TRUE(outcome.failures.empty());
  EXPECT_GT(tally.executed, 50U);
  EXPECT_EQ(tally.executed, tally.of(Kind::exact));
  EXPECT_EQ(tally.executed_traits, tally.traits);
  auto with = [&](Trait trait) { return tally.executed_traits[static_cast<std::size_t>(trait)]; };
  EXPECT_GT(with(Trait::roles), 0U);
  EXPECT_GT(with(Trait::units), 0U);
  EXPECT_GT(with(Trait::bulk_copies), 0U);
  EXPECT_THAT(report(tally),
              HasSubstr(std::to_string(tally.executed) + " of the exact ones executed by the device"));
}

/// The tiles of results are drawn so that bulk stores are mostly possible.
TEST(Fuzz, DrawsBulkStoresThatAreLegal) {
  Outcome outcome = run({.first_seed = 1, .count = 2400, .only_warps = true, .arch = "sm_90a"});
  for (const Failure &failure : outcome.failures)
    ADD_FAILURE() << report(failure);
  const CampaignCounts &tally = outcome.tally;
  EXPECT_GT(tally.with_bulk_stores, 15U);
  EXPECT_GT(6 * tally.traits[static_cast<std::size_t>(Trait::bulk_stores)], tally.with_bulk_stores)
      << report(tally);
}

TEST(OnADevice, AWrongResultIsAFind) {
  auto spoil = [](std::span<Array> arrays) {
    for (Array &array : arrays)
      array.set(0, Scalar::from_double(array.dtype(), array.at(0).to_double() + 3));
  };
  EXPECT_THAT(found_by(run_on_stand_in(spoil, 50)), HasSubstr("expected"));
}

TEST(OnADevice, ALaunchThatFailsIsAFindAndTheNextOneHasANewDevice) {
  auto fail = [](std::span<Array>) { throw UserError(ExitCode::wrong_result, "CUDA_ERROR_ILLEGAL_ADDRESS"); };
  EXPECT_EQ(found_by(run_on_stand_in(fail, 50)), "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(run_on_stand_in(fail, 50, 3).failures.size(), 3U);
}

TEST(OnADevice, ALaunchThatDoesNotEndIsAFindAndItsTraceRemains) {
  const test::TemporaryFolder folder;
  const std::filesystem::path launched = folder / "launched.json";
  std::string during;
  Plan plan{.first_seed = 1, .count = 50, .arch = "sm_90a"};
  plan.failures = 1;
  plan.launched = launched;
  plan.open_device = [] { return std::make_unique<StandIn>([](std::span<Array>) { pause(); }); };
  plan.found = [&](const Failure &failure) {
    during = test::read_file(launched.string());
    EXPECT_EQ(during, to_json(trace_of(failure.shrunk)));
  };
  EXPECT_THAT(found_by(run(plan)), HasSubstr("does not end"));
  EXPECT_THAT(during, HasSubstr("sm_90a"));
  EXPECT_FALSE(std::filesystem::exists(launched));
}

TEST(OnADevice, AMachineWithoutAGpuSaysSo) {
  try {
    EXPECT_THAT(find_gpu().arch, HasSubstr("sm_"));
  } catch (const UserError &error) {
    EXPECT_EQ(error.code(), ExitCode::no_device) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("CUDA"));
  }
}

TEST(OnADevice, ACrashOfTheDriverIsAFind) {
  EXPECT_THAT(found_by(run_on_stand_in([](std::span<Array>) { std::raise(SIGSEGV); }, 50)),
              HasSubstr("crashed"));
}

} // namespace
} // namespace nestsmith::fuzz
