#include "dsl/error.h"
#include "dsl/interpret.h"
#include "dsl/printer.h"
#include "runtime/check.h"
#include "runtime/workload_info.h"
#include "tools/command.h"
#include "tools/highlight.h"
#include "tools/json.h"
#include "tools/machine.h"
#include "tools/rung_choice.h"
#include "tools/text_diff.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::cli {

namespace {

// --- The kernel --------------------------------------------------------------------------------------

std::string run_line(const RunResult &run, const Style &style) {
  std::string found = fmt::format("{} wrong", run.wrong_elements);
  if (run.passed)
    found = run.run != CheckRun::random ? "bit for bit"
                                        : fmt::format("error/bound {:.3f}, the worst at [{}]",
                                                      run.max_error_over_bound, fmt::join(run.where, ", "));
  else if (run.wrong_elements == 0)
    found = "see below";
  return fmt::format("  {} {:<25} {}\n", run.passed ? style.green("✓") : style.red("✗"), run.label, found);
}

/// `f32` within the bound and on integers, then the same rung in ring mode.
ExitCode check_kernel(const Context &context, const Choice &choice) {
  Machine machine = choose_machine(context);
  Scheduled it = schedule_choice(context, choice, machine.target);
  check_memory(it.source(), it.shape);
  Checker checker(machine.multiplier.get());
  Progress progress;
  progress.show(fmt::format("{} …", title(it)));
  CheckResult result = checker.check(it.schedule, it.plan(checked_gap), *machine.executor);
  if (it.dtype != DType::u32 && !context.arguments.has("dtype")) {
    Scheduled ring{choice, it.shape, DType::u32, choice.build(it.shape, DType::u32, machine.target), {}};
    progress.show(fmt::format("{} in ring mode …", title(it)));
    CheckResult exact = checker.check(ring.schedule, ring.plan(checked_gap), *machine.executor);
    exact.runs.resize(1); // the run with beta = 0 is in the result of f32
    result.passed &= exact.runs[0].passed;
    result.runs.push_back(exact.runs[0]);
  }
  progress.clear();
  if (context.json()) {
    out(json_text([&](llvm::json::OStream &json) {
      json.object([&] {
        json.attribute("rung", it.choice.name);
        json.attribute("shape", llvm::json::Array(it.shape));
        json.attribute("device", std::string(machine.executor->name()));
        json.attributeArray("runs", [&] {
          for (const RunResult &run : result.runs)
            json.object([&] {
              json.attribute("run", run.label);
              json.attribute("passed", run.passed);
              json.attribute("max_error", json_number(run.max_error));
              if (run.run == CheckRun::random)
                json.attribute("error_over_bound", json_number(run.max_error_over_bound));
              json.attribute("wrong_elements", run.wrong_elements);
              json.attribute("messages", llvm::json::Array(run.messages));
            });
        });
        json.attribute("passed", result.passed);
      });
    }));
  } else {
    const Style &style = context.style;
    std::string text = style.bold(title(it)) + fmt::format("  {}\n\n", machine.executor->name());
    for (const RunResult &run : result.runs)
      text += run_line(run, style);
    text +=
        machine.simulated() ? "\nraces, bounds, unwritten reads and barriers are checked in every run\n" : "";
    for (const std::string &message : result.messages())
      text += "\n" + style.red(message) + "\n";
    if (!machine.note.empty())
      text += style.dim(machine.note) + "\n";
    out(text);
  }
  return result.passed ? ExitCode::good : ExitCode::wrong_result;
}

// --- Every step --------------------------------------------------------------------------------------

/// What is wrong with a program that should compute what the reference says; empty: nothing. In ring mode,
/// bit for bit.
std::string fault_of(const Program &program, const Inputs &inputs, const Reference &expected) {
  std::vector<Array> arrays = inputs.arrays;
  try {
    interpret(program, arrays, inputs.scalars);
  } catch (const UserError &error) {
    return error.what();
  }
  std::size_t output = 0;
  for (std::size_t n = 0; n < arrays.size(); ++n) {
    if (program.params[n]->role == Role::input)
      continue;
    const ReferenceOutput &right = expected.outputs[output++];
    for (std::int64_t e = 0; e < arrays[n].size(); ++e) {
      double got = arrays[n].at(e).to_double();
      if (got != right.value[static_cast<std::size_t>(e)])
        return fmt::format("{}, element {}: got {:.0f}, expected {:.0f}", program.params[n]->name, e, got,
                           right.value[static_cast<std::size_t>(e)]);
    }
  }
  return "";
}

/// A shape that is no multiple of the tile and small enough for the interpreter: just over one tile along
/// the first and the last extent (M and K), a part of one in between.
Shape small_shape(const Choice &choice) {
  Shape shape = choice.tile;
  for (std::int64_t &extent : shape)
    extent = std::min<std::int64_t>(extent, 7);
  shape.front() = choice.tile.front() + 1;
  shape.back() = choice.tile.back() + 1;
  return shape;
}

/// How often the blocks of a program run, bound loops and refills included.
double instances(const Stmt &stmt) {
  return visit(stmt, Overloaded{
                         [](const For &loop) {
                           return static_cast<double>(as_int(loop.extent).value_or(1)) * instances(loop.body);
                         },
                         [](const Seq &seq) {
                           double sum = 0;
                           for (const Stmt &child : seq.stmts)
                             sum += instances(child);
                           return sum;
                         },
                         [](const Block &) { return 1.0; },
                     });
}

/// The interpreter does some five million instances a second.
void check_interpretable(const Schedule &schedule, const Scheduled &it) {
  double total = 0;
  for (std::size_t n = 0; n <= schedule.trace().size(); ++n)
    total += instances(it.step(n).body);
  if (total > 2e9)
    throw UserError(
        ExitCode::usage,
        fmt::format("--each-step would interpret {:.1e} block instances, expected at most 2e9: the shape {} is "
                    "too large; give --shape, or save the trace with a smaller one",
                    total, to_text(it.shape)));
}

ExitCode check_each_step(const Context &context, Choice choice) {
  if (!choice.fixed_shape)
    choice.default_shape = small_shape(choice);
  choice.default_dtype = DType::u32;
  Scheduled it = schedule_choice(context, choice);
  const Schedule &schedule = it.schedule;
  check_memory(it.source(), it.shape);
  check_interpretable(schedule, it);
  CheckRun run = it.dtype == DType::u32 ? CheckRun::ring : CheckRun::integers;
  Inputs inputs = make_inputs(it.source(), run, CheckOptions{}.seed);
  Reference expected = reference(it.source(), inputs.arrays, inputs.scalars);
  std::vector<std::string> faults;
  Progress progress;
  for (std::size_t n = 0; n <= schedule.trace().size(); ++n) {
    progress.show(fmt::format("step {} of {} …", n, schedule.trace().size()));
    faults.push_back(fault_of(it.step(n), inputs, expected));
    if (!faults.back().empty())
      break;
  }
  progress.clear();
  bool passed = faults.back().empty();
  auto directive = [&](std::size_t n) { return n == 0 ? "the computation" : to_cpp(schedule.trace()[n - 1]); };
  if (context.json()) {
    out(json_text([&](llvm::json::OStream &json) {
      json.object([&] {
        json.attribute("rung", it.choice.name);
        json.attribute("shape", llvm::json::Array(it.shape));
        json.attribute("dtype", name(it.dtype).data());
        json.attributeArray("steps", [&] {
          for (std::size_t n = 0; n < faults.size(); ++n)
            json.object([&] {
              json.attribute("directive", directive(n));
              json.attribute("passed", faults[n].empty());
              if (!faults[n].empty())
                json.attribute("fault", faults[n]);
            });
        });
        json.attribute("passed", passed);
      });
    }));
    return passed ? ExitCode::good : ExitCode::wrong_result;
  }
  const Style &style = context.style;
  std::string text = style.bold(title(it)) + "  interpreted after each directive, bit for bit\n\n";
  for (std::size_t n = 0; n < faults.size(); ++n)
    text += fmt::format("  {} {:>2}  {}\n", faults[n].empty() ? style.green("✓") : style.red("✗"), n,
                        highlight(directive(n), style));
  if (!passed) {
    std::size_t n = faults.size() - 1;
    text += "\n" + style.red("at fault: " + directive(n)) + "\n" + faults[n] + "\n";
    if (n > 0)
      text += "\n" + render_diff(diff_lines(print(schedule.step(n - 1)), print(schedule.step(n))), style);
  }
  out(text);
  return passed ? ExitCode::good : ExitCode::wrong_result;
}

ExitCode run(const Context &context) {
  Choice choice = choose_rung(context.rungs, context.arguments.positional()[0]);
  if (!context.arguments.has("each-step"))
    return check_kernel(context, choice);
  if (context.arguments.has("device"))
    throw UserError(ExitCode::usage, "--each-step runs the sequential interpreter and takes no --device");
  return check_each_step(context, choice);
}

} // namespace

Command check_command() {
  return {"check",
          "races, bounds and the result of the kernel, or the result after every directive",
          "RUNG",
          1,
          1,
          {shape_option(),
           symbolic_option(),
           multiple_of_option(),
           dtype_option(),
           device_option(),
           {"each-step", "", "interpret the program after every directive, and name the one at fault"}},
          "",
          run};
}

} // namespace nestsmith::cli
