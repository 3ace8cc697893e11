/// Runs the subjects on the simulator and on the host, and compares all arrays.

#include "tests/schedules/host_compare.h"

#include "dsl/ir/atomics.h"
#include "dsl/ir/specialise.h"
#include "dsl/ir/workload_info.h"
#include "runtime/check/check.h"
#include "runtime/check/sim_executor.h"
#include "runtime/check/stored_array.h"
#include "tests/codegen/host_text.h"

#include <fmt/format.h>

namespace nestsmith {

namespace {

std::vector<CheckRun> runs_of(const Program &source, const Program &scheduled) {
  if (!nondeterministic_results(scheduled).empty())
    return {CheckRun::integers}; // no roundings, so the order of the blocks does not matter
  bool floats = false;
  for (const Buffer &written : written_params(source))
    floats |= is_float(written->dtype);
  std::vector<CheckRun> runs =
      floats ? std::vector{CheckRun::integers, CheckRun::random} : std::vector{CheckRun::ring};
  if (switched_read(source))
    runs.push_back(CheckRun::switched);
  return runs;
}

std::string first_difference(const Array &expected, const Array &got) {
  for (std::int64_t n = 0; n < expected.size(); ++n)
    if (expected.at(n) != got.at(n))
      return fmt::format("element {} is {:#x}, the simulator has {:#x}", n, got.at(n).bits,
                         expected.at(n).bits);
  return "";
}

/// One launch and its results on the simulator.
struct Expected {
  std::string what;
  std::vector<Array> arrays;
};

} // namespace

std::vector<std::string> differences_on_host(const std::vector<Subject> &subjects) {
  std::vector<std::string> problems;
  std::vector<host::Run> launches;
  std::vector<Expected> expected;
  for (const Subject &subject : subjects) {
    const Program source = specialise(subject.schedule.source(), subject.plan.values);
    for (CheckRun run : runs_of(source, subject.schedule.program())) {
      Inputs inputs = make_inputs(source, run, 1);
      std::vector<Array> memory;
      for (std::size_t n = 0; n < inputs.arrays.size(); ++n)
        memory.push_back(StoredArray(source.params[n]).spread(inputs.arrays[n], 0x7fc0dead));
      SimExecutor simulator;
      std::vector<Array> after = memory;
      for (const std::string &diagnostic : simulator.run(subject.plan, after, inputs.scalars).diagnostics)
        problems.push_back(fmt::format("{}: the simulator says: {}", subject.name, diagnostic));
      for (bool backwards : {false, true}) {
        launches.push_back({subject.plan, memory, inputs.scalars, backwards});
        expected.push_back({subject.name + (backwards ? ", backwards" : ""), after});
      }
    }
  }
  std::vector<host::Outcome> outcomes = host::run(launches);
  for (std::size_t n = 0; n < outcomes.size(); ++n) {
    if (!outcomes[n].fault.empty()) {
      problems.push_back(fmt::format("{}: {}", expected[n].what, outcomes[n].fault));
      continue;
    }
    for (std::size_t p = 0; p < expected[n].arrays.size(); ++p)
      if (expected[n].arrays[p] != outcomes[n].arrays[p])
        problems.push_back(fmt::format("{}: {}: {}", expected[n].what, launches[n].plan.params[p]->name,
                                       first_difference(expected[n].arrays[p], outcomes[n].arrays[p])));
  }
  return problems;
}

} // namespace nestsmith
