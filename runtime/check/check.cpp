#include "runtime/check/check.h"

#include "dsl/error.h"
#include "dsl/printer.h"
#include "dsl/specialise.h"
#include "dsl/workload_info.h"
#include "runtime/check/roundings.h"
#include "runtime/check/stored_array.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace nestsmith {

namespace {

std::string label_of(CheckRun run, const Program &source) {
  switch (run) {
  case CheckRun::random:
    return "floating point";
  case CheckRun::integers:
    return "integer mode";
  case CheckRun::ring:
    return "ring mode";
  case CheckRun::infinite:
    return "infinities, 1 of 2";
  case CheckRun::opposite:
    return "infinities, 2 of 2";
  case CheckRun::switched:
    auto read = switched_read(source);
    const char *content = is_float(read->buffer->dtype) ? "NaN" : "poison";
    return fmt::format("{} = 0, {} full of {}", read->scalar->name, read->buffer->name, content);
  }
  internal_error("a run of the closed set");
}

/// Whether all results are integers. Beside floating point they are exact in every run.
bool in_ring(const Program &source) {
  return std::ranges::none_of(written_params(source), [](const Buffer &b) { return is_float(b->dtype); });
}

} // namespace

std::vector<SkippedRun> by_reason(const std::vector<SkippedRun> &skipped) {
  std::vector<SkippedRun> joined;
  for (const SkippedRun &run : skipped)
    if (auto known = std::ranges::find(joined, run.why, &SkippedRun::why); known != joined.end())
      known->label += "; " + run.label;
    else
      joined.push_back(run);
  return joined;
}

const RunResult *CheckResult::find(CheckRun run) const {
  auto it = std::ranges::find(runs, run, &RunResult::run);
  return it == runs.end() ? nullptr : &*it;
}

std::optional<bool> CheckResult::exact() const {
  std::optional<bool> exact;
  for (const RunResult &result : runs)
    if (result.run != CheckRun::random)
      exact = exact.value_or(true) && result.wrong_elements == 0;
  return exact;
}

std::vector<std::string> CheckResult::messages() const {
  std::vector<std::string> all;
  for (const RunResult &result : runs)
    for (const std::string &message : result.messages)
      all.push_back(fmt::format("{}: {}", result.label, message));
  return all;
}

std::shared_ptr<const Checker::Case> Checker::make_case(const Program &source, CheckRun run,
                                                        std::uint64_t seed) {
  std::string key = fmt::format("{} {}\n{}", static_cast<int>(run), seed, print(source));
  std::shared_ptr<const Case> &known = cases_[key];
  if (known)
    return known;
  constexpr double exact_in_f32 = 0x1p24;
  bool integers = !in_ring(source) && run != CheckRun::random;
  // Smaller integers for longer sums. With ±1 a sum of 2^22 terms is still exact, and beyond it the
  // run is left out.
  std::string skip;
  for (int largest = 8; largest >= 1; largest /= 2) {
    Inputs inputs = make_inputs(source, run, seed, largest);
    Reference expected = reference(source, inputs.arrays, inputs.scalars, multiplier_);
    if (integers && expected.fraction_bits >= endless_fraction) {
      skip = expected.divides ? "a quotient or a constant of the computation is not exact in f32"
                              : "a constant of the computation has too many digits for exact results in f32";
      break;
    }
    bool exact = expected.fraction_bits < endless_fraction && expected.largest < exact_in_f32;
    if (integers && !with_infinities(run) && !exact) {
      skip = "the sums are too large to be exact in f32";
      continue;
    }
    return known = std::make_shared<const Case>(Case{std::move(inputs), std::move(expected), "", exact});
  }
  return known = std::make_shared<const Case>(Case{{}, {}, skip, false});
}

CheckResult Checker::check(const Program &symbolic, const kernel::Plan &plan, Executor &executor,
                           const CheckOptions &options) {
  const Program source = specialise(symbolic, plan.values);
  std::vector<StoredArray> stored;
  for (const Buffer &param : source.params)
    stored.emplace_back(param);
  auto compute = [&](std::vector<Array> &arrays, const std::vector<Scalar> &scalars) {
    std::vector<Array> memory;
    for (std::size_t n = 0; n < stored.size(); ++n)
      memory.push_back(stored[n].spread(arrays[n], filler_of(source.params[n])));
    Execution execution = executor.run(plan, memory, scalars);
    for (std::size_t n = 0; n < stored.size(); ++n) {
      const Buffer &param = source.params[n];
      arrays[n] = stored[n].gather(memory[n]);
      if (memory[n] != stored[n].spread(arrays[n], filler_of(param)))
        execution.diagnostics.push_back(fmt::format("{} was written in the gap between its rows", param->name));
    }
    return execution;
  };
  CheckOptions scaled = options;
  scaled.rounding_scale = rounding_scale(plan);
  return check(source, compute, scaled);
}

CheckResult Checker::check(const Program &source, const Compute &compute, const CheckOptions &options) {
  std::vector<CheckRun> runs;
  if (in_ring(source))
    runs = {CheckRun::ring};
  else if (options.exact_only)
    runs = {CheckRun::integers};
  else
    runs = {CheckRun::random, CheckRun::integers};
  if (switched_read(source))
    runs.push_back(CheckRun::switched);
  if (options.infinite && !in_ring(source))
    runs.insert(runs.end(), {CheckRun::infinite, CheckRun::opposite});

  CheckResult result;
  for (CheckRun run : runs) {
    if (options.to_first && !result.passed)
      break;
    auto given = make_case(source, run, options.seed);
    if (!given->skip.empty()) {
      result.skipped.push_back({label_of(run, source), given->skip});
      continue;
    }
    std::vector<Array> arrays = given->inputs.arrays;
    Execution execution = compute(arrays, given->inputs.scalars);

    RunResult &one = result.runs.emplace_back();
    one.run = run;
    one.label = label_of(run, source);
    one.passed = execution.diagnostics.empty();
    one.messages = execution.diagnostics;
    std::size_t output = 0;
    for (std::size_t n = 0; n < source.params.size(); ++n) {
      const Buffer &param = source.params[n];
      if (param->role == Role::input) {
        if (arrays[n] != given->inputs.arrays[n]) {
          one.passed = false;
          one.messages.push_back(fmt::format("the input {} was modified", param->name));
        }
        continue;
      }
      const ReferenceOutput &expected = given->expected.outputs[output++];
      if (expected.rounded && (run == CheckRun::random || !given->exact))
        result.skipped.push_back(
            {one.label,
             fmt::format(
                 "{} holds integers computed from rounded numbers, which are compared only if all numbers "
                 "are exact",
                 param->name)});
      else
        compare_output(expected, given->inputs.arrays[n], arrays[n],
                       roundings_of(given->expected, options.rounding_scale), one);
    }
    count_wrong(one);
    if (one.without_bound > 0)
      result.skipped.push_back(
          {one.label,
           fmt::format("{} elements have no error bound, because f32 may overflow or a divisor may be 0",
                       one.without_bound)});
    result.passed &= one.passed;
  }
  return result;
}

} // namespace nestsmith
