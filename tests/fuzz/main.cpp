/// nestsmith_fuzz: judges random schedules or mutants of traces until a given limit.

#include "dsl/expr/error.h"
#include "tests/files.h"
#include "tests/fuzz/campaign.h"
#include "tests/fuzz/exhaustive.h"
#include "tests/fuzz/isolated.h"
#include "tests/fuzz/mutate_traces.h"
#include "tests/fuzz/shrink.h"
#include "tools/options/arguments.h"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace nestsmith::fuzz {
namespace {

const std::vector<cli::Option> options = {
    {"seed", "S", "of the first schedule; each has its own (1)"},
    {"count", "N", "schedules; without --seconds 2000"},
    {"seconds", "N", "stop after so many seconds"},
    {"computations", "N", "generated computations to choose from, for half of the schedules (4000; 0: none)"},
    {"warps", "", "skip the seeds of schedules that are not for warps: seven of eight"},
    {"compile", "N", "compile every Nth by NVRTC, for its architectures in turn (200; 0: none)"},
    {"failures", "N", "stop after so many (20)"},
    {"arch", "ARCH", "of all schedules; default: each draws its own, or with --device gpu that of the GPU"},
    {"device", "WHERE", "gpu: execute the exact ones on the GPU, too (sim: only simulate)", 0, {"gpu", "sim"}},
    {"everything", "N", "every Nth by all oracles and commands; none is compiled (0: none)"},
    {"save", "FOLDER", "write the trace of each failure there, and with --device gpu that of each launch"},
    {"show", "", "print the schedule of the seed and its verdict"},
    {"exhaustive", "N", "all sequences of N directives on a product of 3 x 5 x 4"},
    {"sample", "N", "of the longest sequences, a random one in N, the same in each run (1: all)"},
    {"mutate-traces", "", "instead of schedules, mutants of traces; --seconds are of the processor"},
    {"no-shrink", "", "leave what is found as it is"},
    {"replay", "FILE", "judge a saved trace in this process"},
    {"help", "", "this text"}};

std::string help() {
  std::string text =
      "usage: nestsmith_fuzz [OPTIONS]\n"
      "Random schedules: each is refused, or gives the exact result. To go on where a run ended,\n"
      "give the seed that it names.\n";
  for (const cli::Option &option : options)
    text += fmt::format("  --{:<16} {}\n", option.name + (option.value.empty() ? "" : " " + option.value),
                        option.help);
  return text;
}

constexpr Thoroughness thorough{
    .random = true, .infinite = true, .compile = true, .everything = true, .report = true};

int show(std::uint64_t seed, std::uint64_t computations, const std::string &arch) {
  Case test_case = draft_apart(seed, computations, arch);
  Verdict verdict = judge_apart(test_case, thorough);
  fmt::print("{}{}{}\n{}\n", to_cpp(test_case), to_json(trace_of(test_case)), name(verdict.kind),
             verdict.message);
  return breaks_promise(verdict.kind) ? 1 : 0;
}

int exhaust(std::size_t directives, std::size_t one_in) {
  SmallWorld world = try_small_world(directives, one_in);
  for (const std::string &fault : world.faults)
    fmt::print("{}\n", fault);
  fmt::print(
      "{} of {} sequences of up to {} directives make {} programs: {} exact, {} owe something, {} are wrong\n",
      world.sequences, world.all_sequences, directives, world.programs, world.exact, world.owing,
      world.programs - world.exact - world.owing);
  return world.faults.empty() ? 0 : 1;
}

int replay(const std::string &path, bool on_gpu) {
  std::unique_ptr<Device> gpu = on_gpu ? open_gpu() : nullptr;
  Thoroughness thoroughness = thorough;
  thoroughness.device = gpu.get();
  Verdict verdict = judge(case_of(parse_trace(test::read_file(path), path), path), thoroughness);
  fmt::print("{}\n{}\n", name(verdict.kind), verdict.message);
  return breaks_promise(verdict.kind) ? 1 : 0;
}

void save(const Failure &failure, const std::filesystem::path &folder) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / fmt::format("seed_{}.json", failure.seed)) << to_json(trace_of(failure.shrunk));
}

int mutate_for(const cli::Arguments &arguments, std::uint64_t seed) {
  if (arguments.has("show")) {
    fmt::print("{}\n", mutant_apart(seed));
    return 0;
  }
  MutationPlan plan{.first_seed = seed,
                    .count = static_cast<std::uint64_t>(
                        arguments.number("count").value_or(arguments.has("seconds") ? 0 : 2000)),
                    .seconds = static_cast<double>(arguments.number("seconds").value_or(0)),
                    .finds = static_cast<std::size_t>(arguments.number("failures").value_or(20)),
                    .shrink = !arguments.has("no-shrink")};
  plan.found = [&](const Find &find) {
    fmt::print("{}\n", report(find));
    std::fflush(stdout);
    if (auto folder = arguments.value("save")) {
      std::filesystem::create_directories(*folder);
      test::write_file(std::filesystem::path(*folder) / fmt::format("mutant_{}.json", find.seed), find.trace);
    }
  };
  MutationOutcome outcome = mutate_traces(plan);
  fmt::print("{}the next seed is {}\n", report(outcome), outcome.next_seed);
  return outcome.finds.empty() ? 0 : 1;
}

/// Adds the GPU to the plan.
void execute_on_gpu(const cli::Arguments &arguments, Plan &plan) {
  auto folder = arguments.value("save");
  if (!folder)
    throw UserError(ExitCode::usage,
                    "--device gpu needs --save FOLDER: the trace of each launch is written there "
                    "before it, so that it names a kernel that never ends");
  const FoundGpu gpu = find_gpu();
  fmt::print("on {}, {}\n", gpu.name, gpu.arch);
  std::fflush(stdout);
  std::filesystem::create_directories(*folder);
  plan.arch = gpu.arch;
  plan.compile = 0; // the GPU compiles them all
  plan.open_device = open_gpu;
  plan.launched = std::filesystem::path(*folder) / fmt::format("launched_from_{}.json", plan.first_seed);
}

int fuzz_for(const cli::Arguments &arguments) {
  if (arguments.has("help")) {
    fmt::print("{}", help());
    return 0;
  }
  const bool on_gpu = arguments.value("device") == "gpu";
  if (on_gpu)
    for (const char *other : {"arch", "compile", "everything", "exhaustive", "mutate-traces", "show"})
      if (arguments.has(other))
        throw UserError(ExitCode::usage, fmt::format("--device gpu takes no --{}", other));
  if (auto path = arguments.value("replay"))
    return replay(*path, on_gpu);
  auto number = [&](const char *name, std::int64_t otherwise) {
    return static_cast<std::uint64_t>(arguments.number(name).value_or(otherwise));
  };
  if (arguments.has("exhaustive"))
    return exhaust(number("exhaustive", 0), number("sample", 1));
  const std::string arch = arguments.value("arch").value_or("");
  if (!arch.empty())
    make_target(arch); // refuses what is no architecture
  std::uint64_t seed = number("seed", 1), computations = number("computations", usual_computations);
  if (arguments.has("mutate-traces"))
    return mutate_for(arguments, seed);
  if (arguments.has("show"))
    return show(seed, computations, arch);
  Plan plan{.first_seed = seed,
            .count = number("count", arguments.has("seconds") ? 0 : 2000),
            .computations = computations,
            .only_warps = arguments.has("warps"),
            .compile = number("compile", 200),
            .everything = number("everything", 0)};
  plan.arch = arch;
  if (on_gpu)
    execute_on_gpu(arguments, plan);
  plan.failures = number("failures", 20);
  plan.shrink = !arguments.has("no-shrink");
  plan.seconds = static_cast<double>(number("seconds", 0));
  plan.progress = [](std::uint64_t next, const CampaignCounts &tally) {
    fmt::print(stderr, "{} schedules, {} exact, {} broken; next is the seed {}\n", tally.schedules,
               tally.of(Kind::exact), tally.broken(), next);
  };
  plan.found = [&](const Failure &failure) {
    fmt::print("after {:.1f} s of the processor: {}\n", processor_seconds(), report(failure));
    std::fflush(stdout);
    if (auto folder = arguments.value("save"))
      save(failure, *folder);
  };
  Outcome outcome = fuzz::run(plan);
  fmt::print("{}the next seed is {}\n", report(outcome.tally), outcome.next_seed);
  return outcome.failures.empty() ? 0 : 1;
}

} // namespace
} // namespace nestsmith::fuzz

int main(int argc, char **argv) {
  using namespace nestsmith;
  try {
    return fuzz::fuzz_for(cli::Arguments("nestsmith_fuzz", {argv + 1, argv + argc}, fuzz::options));
  } catch (const UserError &error) {
    fmt::print(stderr, "nestsmith_fuzz: {}\n", error.what());
    return static_cast<int>(error.code());
  }
}
