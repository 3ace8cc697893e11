#include "dsl/expr/error.h"
#include "dsl/ir/atomics.h"
#include "runtime/check/check.h"
#include "tools/commands/each_step.h"
#include "tools/options/command.h"
#include "tools/options/machine.h"
#include "tools/options/scheduled.h"
#include "tools/output/json.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::cli {

namespace {

// --- The kernel --------------------------------------------------------------------------------------

std::string run_line(const RunResult &run, const Style &style) {
  std::string found = fmt::format("{} wrong", run.wrong_elements);
  bool compared = run.outputs.empty() || std::ranges::any_of(run.outputs, [](const ComparedOutput &output) {
                    return output.compared > 0;
                  });
  if (run.passed && !compared)
    return fmt::format("  {} {:<25} compared no element\n", style.red("?"), run.label);
  if (run.passed)
    found = run.exact ? is_floating_point(run.run) ? "error/bound 0.000, bit for bit" : "bit for bit"
            : run.max_error_over_bound == 0 ? "no error"
                                            : fmt::format("error/bound {:.3f}, the worst at [{}]",
                                                          run.max_error_over_bound, fmt::join(run.where, ", "));
  else if (run.wrong_elements == 0)
    found = "see below";
  return fmt::format("  {} {:<25} {}\n", run.passed ? style.green("✓") : style.red("✗"), run.label, found);
}

/// The label of a run.
constexpr const char *ring_label = "ring mode";

/// The same rung in ring mode, if its computation supports it: one with a constant such as 0.5 or a function on
/// floating point does not.
void check_ring(const Scheduled &scheduled, const Machine &machine, Checker &checker, CheckResult &result) {
  std::optional<Scheduled> ring;
  kernel::Plan plan;
  try {
    ring = Scheduled{scheduled.choice,
                     scheduled.shape,
                     DType::u32,
                     schedule_of(scheduled.choice, scheduled.shape, DType::u32, machine.target),
                     {},
                     {},
                     {}};
    if (std::string own = dtype_name(ring->source(), DType::u32); own != name(DType::u32)) {
      result.skipped.push_back({ring_label, fmt::format("the data are {} regardless of --dtype", own)});
      return;
    }
    plan = ring->plan(checked_gap);
  } catch (const UserError &error) {
    result.skipped.push_back({ring_label, fmt::format("it cannot be built for u32: {}", error.what())});
    return;
  }
  CheckResult exact = checker.check(ring->schedule.source(), plan, *machine.executor);
  if (const RunResult *run = exact.find(CheckRun::ring)) { // the f32 result includes the run with beta = 0
    result.passed &= run->passed;
    result.runs.push_back(*run); // another computation: it does not add to what was compared of this one
  }
}

void write_json(const Scheduled &scheduled, const Machine &machine, const CheckResult &result) {
  out(json_text([&](llvm::json::OStream &json) {
    json.object([&] {
      json.attribute("rung", scheduled.choice.name);
      json.attribute("shape", llvm::json::Array(scheduled.shape));
      json.attribute("dtype", dtype_name(scheduled.source(), scheduled.dtype));
      json.attribute("device", std::string(machine.executor->name()));
      json.attributeArray("runs", [&] {
        for (const RunResult &run : result.runs)
          json.object([&] {
            json.attribute("run", run.label);
            json.attribute("passed", run.passed);
            json.attribute("max_error", json_number(run.max_error));
            if (!run.exact || is_floating_point(run.run))
              json.attribute("error_over_bound", json_number(run.max_error_over_bound));
            json.attribute("wrong_elements", run.wrong_elements);
            json.attribute("messages", llvm::json::Array(run.messages));
          });
      });
      write_outputs(json, result);
      write_skipped(json, result);
      json.attribute("nondeterministic",
                     llvm::json::Array(nondeterministic_results(scheduled.schedule.program())));
      json.attribute("outcome", name(result.outcome()).data());
      json.attribute("passed", result.passed);
    });
  }));
}

std::string text_of(const Scheduled &scheduled, const Machine &machine, const CheckResult &result,
                    const Style &style) {
  std::string text = style.bold(title(scheduled)) + fmt::format("  {}", machine.executor->name());
  text = folded_lines(text) + "\n\n";
  for (const RunResult &run : result.runs)
    text += run_line(run, style);
  for (const SkippedRun &run : by_reason(result.skipped))
    text += folded(run.label + ": " + run.why, std::string(30, ' '),
                   fmt::format("  {} {:<25} ", "–", "not checked"));
  if (result.outcome() != CheckOutcome::wrong)
    for (const Coverage &output : result.outputs)
      if (output.in_full())
        text += folded(fmt::format("every element of {}: {}", output.buffer, output.run), std::string(30, ' '),
                       fmt::format("  {} {:<25} ", " ", "compared in full"));
  if (machine.simulated())
    text += "\nraces, bounds, unwritten reads and barriers are checked in every run\n";
  for (const std::string &line : nondeterministic_results(scheduled.schedule.program()))
    text += "\n" + folded_lines(line) + "\n";
  for (const std::string &message : result.messages())
    text += "\n" + style.red(folded_lines(message)) + "\n";
  if (!machine.note.empty())
    text += style.dim(folded_lines(machine.note)) + "\n";
  return text;
}

/// Checks f32 within the error bound and on integers, then the same rung in ring mode.
ExitCode check_kernel(const Context &context, const ChosenRung &choice) {
  Machine machine = choose_machine(context);
  Scheduled scheduled = schedule_choice(context, choice, machine.target);
  check_memory(scheduled.source(), scheduled.shape);
  if (machine.simulated())
    check_work(scheduled.source(), scheduled.shape);
  kernel::Plan plan = scheduled.plan(checked_gap);
  warn_if_unbound(scheduled, plan);
  Checker checker(machine.multiplier.get());
  Progress progress;
  progress.show(fmt::format("{} …", title(scheduled)));
  CheckResult result = checker.check(scheduled.schedule.source(), plan, *machine.executor, {.infinite = true});
  if (!result.find(CheckRun::ring) && !context.arguments.has("dtype")) {
    progress.show(fmt::format("{} in ring mode …", title(scheduled)));
    check_ring(scheduled, machine, checker, result);
  }
  progress.clear();
  if (context.json())
    write_json(scheduled, machine, result);
  else
    out(text_of(scheduled, machine, result, context.style));
  return result.passed ? ExitCode::good : ExitCode::wrong_result;
}

ExitCode run_check(const Context &context) {
  ChosenRung choice = given_rung(context);
  if (!context.arguments.has("each-step")) {
    if (context.arguments.has("save"))
      throw UserError(ExitCode::usage, "--save writes the reproducer of --each-step; give --each-step too");
    return check_kernel(context, choice);
  }
  if (context.arguments.has("device"))
    throw UserError(ExitCode::usage,
                    "--each-step runs the interpreter and the simulator, and takes no --device");
  return check_each_step(context, choice);
}

} // namespace

Command check_command() {
  return {
      "check",
      "check a kernel for races, accesses out of bounds and wrong results, or check every directive and pass",
      "RUNG",
      1,
      1,
      {shape_option(),
       symbolic_option(),
       multiple_of_option(),
       rows_multiple_of_option(),
       dtype_option(),
       set_option(),
       table_option(),
       device_option(),
       arch_option(),
       {"each-step", "",
        "run the program after each directive and each lowering pass, and name the first that changes the "
        "result. A case is a shape and a type: without --shape and --dtype, the cases are small difficult "
        "shapes "
        "in ring mode and in floating point. From the second case on, if running after every directive takes "
        "too long, some of these runs are skipped; they are done only if a later step is wrong"},
       {"save", "FILE", "write the trace that reproduces the fault to FILE; default: a temporary file"}},
      "",
      run_check};
}

} // namespace nestsmith::cli
