#include "tools/commands/each_step.h"

#include "dsl/expr/error.h"
#include "dsl/ir/specialise.h"
#include "dsl/schedule/trace.h"
#include "runtime/check/blame.h"
#include "runtime/check/stored_array.h"
#include "tools/options/machine.h"
#include "tools/output/highlight.h"
#include "tools/output/json.h"
#include "tools/output/output_file.h"
#include "tools/output/text_diff.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>

namespace nestsmith::cli {

namespace {

/// Limit on the block instances of a requested case. The interpreter executes about five million per second.
constexpr double most_asked_for = 2e9;

/// Builds the choice for other extents, with its statements about sizes.
Build build_of(const Context &context, const ChosenRung &choice) {
  std::optional<Size> stated = chosen_shape(context, choice).stated;
  Target target = simulated_target(context);
  return [&choice, stated, target](const std::vector<std::int64_t> &extents, DType dtype) {
    Shape shape = extents;
    shape.stated = stated;
    return schedule_of(choice, shape, dtype, target);
  };
}

bool small_shapes(const Context &context, const ChosenRung &choice) {
  return !context.arguments.has("shape") && !choice.fixed_shape;
}

/// The requested shape, or small hostile shapes, within the statements about sizes.
std::vector<std::vector<std::int64_t>> shapes_of(const Context &context, const ChosenRung &choice,
                                                 const Program &source) {
  if (!small_shapes(context, choice))
    return {chosen_shape(context, choice)};
  std::vector<std::vector<std::int64_t>> different;
  for (const std::vector<std::int64_t> &hostile : hostile_shapes(choice.tile)) {
    Shape shape = fitting_shape(source, hostile);
    if (std::ranges::find(different, shape) == different.end())
      different.push_back(shape);
  }
  return different;
}

std::vector<DType> dtypes_of(const Context &context, const ChosenRung &choice) {
  if (context.arguments.has("dtype") || choice.fixed_shape)
    return {chosen_dtype(context, choice)};
  return {DType::u32, DType::f32};
}

/// The reason why the computation has no ring mode, or empty.
std::string without_ring(const Build &build, const std::vector<std::int64_t> &extents) {
  try {
    std::string own = dtype_name(build(extents, DType::u32).source(), DType::u32);
    return own == name(DType::u32) ? "" : fmt::format("the data are {} regardless of --dtype", own);
  } catch (const UserError &error) {
    return fmt::format("it cannot be built for u32: {}", error.what());
  }
}

/// Refuses a requested case that is too large, instead of skipping it silently. Throws UserError (usage).
void check_first(const Schedule &schedule, const std::vector<std::int64_t> &extents) {
  BlameOptions options;
  options.extents = extents;
  std::vector<std::int64_t> sizes;
  if (!schedule.source().sizes.empty())
    sizes = sizes_for(schedule.source(), extents, 0);
  check_memory(specialise(schedule.source(), sizes), extents);
  if (double total = interpreted_instances(schedule, options); total > most_asked_for)
    throw UserError(
        ExitCode::usage,
        fmt::format(
            "--each-step would interpret {:.1e} block instances, expected at most {:.0e}: the shape {} is "
            "too large; give --shape, or save the trace with a smaller one",
            total, most_asked_for, to_text(extents)));
}

std::string temporary_file() {
  llvm::SmallString<128> path;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("nestsmith-blame", "json", path))
    throw UserError(ExitCode::usage, "cannot make a temporary file: " + error.message() + "; give --save FILE");
  return path.str().str();
}

/// The path of the trace that reproduces the fault.
std::string save_trace(const Context &context, const BlamedCase &blamed) {
  std::string path = context.arguments.value("save").value_or("");
  if (path.empty())
    path = temporary_file();
  write_file(path, to_json(trace_file(*blamed.schedule, blamed.extents, blamed.dtype)));
  return path;
}

const char *kind_name(BlamedStep::Kind kind) {
  return kind == BlamedStep::Kind::pass        ? "pass"
         : kind == BlamedStep::Kind::directive ? "directive"
                                               : "computation";
}

std::string dtype_of(const BlamedCase &blamed) {
  return blamed.schedule ? dtype_name(blamed.schedule->source(), blamed.dtype)
                         : std::string(name(blamed.dtype));
}

/// Whether some elements were compared by no run.
bool any_not_compared(const std::vector<BlamedCase> &cases) {
  return std::ranges::any_of(cases,
                             [](const BlamedCase &blamed) { return !blamed.blame.not_compared.empty(); });
}

std::string json_of(const ChosenRung &choice, const std::vector<BlamedCase> &cases, const std::string &no_ring,
                    const std::string &command) {
  return json_text([&](llvm::json::OStream &json) {
    json.object([&] {
      json.attribute("rung", choice.name);
      json.attributeArray("cases", [&] {
        for (const BlamedCase &blamed : cases)
          json.object([&] {
            json.attribute("shape", llvm::json::Array(blamed.extents));
            json.attribute("dtype", dtype_of(blamed));
            if (!blamed.left_out.empty())
              json.attribute("left_out", blamed.left_out);
            if (!blamed.blame.refusal.empty())
              json.attribute("refusal", blamed.blame.refusal);
            json.attribute("runs", llvm::json::Array(blamed.blame.runs));
            json.attributeArray("steps", [&] {
              for (const BlamedStep &step : blamed.blame.steps)
                json.object([&] {
                  json.attribute("kind", kind_name(step.kind));
                  json.attribute("name", step.name);
                  if (step.left_out)
                    json.attribute("left_out", true);
                  else
                    json.attribute("passed", !blamed.blame.fault || &step != &blamed.blame.at_fault());
                });
            });
            if (blamed.blame.fault)
              json.attribute("fault", blamed.blame.fault->message);
            if (!blamed.blame.not_compared.empty())
              json.attribute("not_compared", llvm::json::Array(blamed.blame.not_compared));
          });
      });
      if (!no_ring.empty())
        json.attribute("no_ring_mode", no_ring);
      if (!command.empty())
        json.attribute("replay", command);
      json.attribute("passed", command.empty() && !any_not_compared(cases));
    });
  });
}

std::string steps_text(const Blame &blame, const Style &style) {
  std::string text;
  for (std::size_t n = 0; n < blame.steps.size(); ++n) {
    const BlamedStep &step = blame.steps[n];
    bool wrong = blame.fault && n == blame.fault->step;
    std::string name = step.kind == BlamedStep::Kind::pass ? "pass " + step.name : highlight(step.name, style);
    std::string mark = wrong ? style.red("✗") : step.left_out ? style.dim("-") : style.green("✓");
    text += folded(name, "           ", fmt::format("  {} {:>2}  ", mark, n));
  }
  return text;
}

std::string case_line(const BlamedCase &blamed, const Style &style) {
  std::string shape = fmt::format("{} {}", dtype_of(blamed), to_text(blamed.extents));
  auto line = [](const std::string &mark, const std::string &text) {
    return folded(text, "      ", "  " + mark + " ");
  };
  if (!blamed.left_out.empty())
    return line("-",
                fmt::format("{}: left out: {}", shape, blamed.left_out.substr(0, blamed.left_out.find('\n'))));
  if (blamed.blame.fault)
    return line(style.red("✗"), fmt::format("{}: {} changed the result", shape, blamed.blame.at_fault().name));
  return line(blamed.blame.not_compared.empty() ? style.green("✓") : style.red("?"),
              fmt::format("{}: {}{}", shape, to_string(blamed.blame),
                          blamed.blame.refusal.empty() ? "" : "; it cannot be lowered, see below"));
}

/// The inputs of the steps, one line for each dtype.
std::string runs_text(const std::vector<BlamedCase> &cases) {
  std::vector<std::string> lines;
  for (const BlamedCase &blamed : cases) {
    std::string line = fmt::format("  {}: {}\n", dtype_of(blamed), fmt::join(blamed.blame.runs, "; "));
    if (!blamed.blame.runs.empty() && std::ranges::find(lines, line) == lines.end())
      lines.push_back(line);
  }
  return lines.empty() ? ""
                       : "\n"
                         "inputs of each step that was run:\n" +
                             folded_lines(fmt::format("{}", fmt::join(lines, "")));
}

std::string fault_text(const BlamedCase &blamed, const std::string &command, const Style &style) {
  const Fault &fault = *blamed.blame.fault;
  const BlamedStep &step = blamed.blame.at_fault();
  std::string text = "\n" + style.red(fmt::format("at fault: {} {}", kind_name(step.kind), step.name)) + "\n";
  text += folded_lines((fault.run.empty() ? "" : fault.run + ": ") + fault.message + "\n");
  if (fault.step > 0)
    text += "\n" + render_diff(diff_lines(blamed.blame.steps[fault.step - 1].text, step.text), style);
  return text +
         "\n"
         "to reproduce: " +
         command + "\n";
}

std::string text_of(const ChosenRung &choice, const std::vector<BlamedCase> &cases, const std::string &no_ring,
                    const std::string &command, const Style &style) {
  const BlamedCase &last = cases.back();
  const BlamedCase &shown = last.blame.fault ? last : cases.front();
  std::string text = style.bold(choice.name) + "  run after each directive and pass\n\n";
  text += steps_text(shown.blame, style) + "\n";
  if (!no_ring.empty())
    text += folded("ring mode: not checked: " + no_ring, "      ", "  - ");
  for (const BlamedCase &blamed : cases)
    text += case_line(blamed, style);
  text += runs_text(cases);
  if (last.blame.fault)
    text += fault_text(last, command, style);
  for (const BlamedCase &blamed : cases)
    if (!blamed.blame.refusal.empty())
      return text + "\n" + style.red(folded_lines(blamed.blame.refusal)) + "\n";
  return text;
}

} // namespace

ExitCode check_each_step(const Context &context, const ChosenRung &choice, const std::vector<Pass> &passes) {
  Build build = build_of(context, choice);
  std::vector<DType> dtypes = dtypes_of(context, choice);
  std::optional<Size> stated = chosen_shape(context, choice).stated;
  Shape probe =
      small_shapes(context, choice) ? hostile_shapes(choice.tile).front() : chosen_shape(context, choice);
  std::string no_ring = dtypes.size() > 1 ? without_ring(build, probe) : "";
  if (!no_ring.empty())
    dtypes = {DType::f32};
  Schedule first = build(probe, dtypes.front());
  auto shapes = shapes_of(context, choice, first.source());
  Shape shape = shapes.front();
  shape.stated = stated;
  state_sizes(choice.name, first.source(), shape);
  check_first(first, shapes.front());
  Progress progress;
  BlameOptions options;
  options.passes = passes;
  options.about_to_run = [&](const BlamedStep &step) { progress.step(fmt::format("{} …", step.name)); };
  std::vector<BlamedCase> cases = find_blame(build, shapes, dtypes, options);
  progress.clear();
  bool faulty = cases.back().blame.fault.has_value();
  std::string command = faulty ? replay_command(save_trace(context, cases.back()), cases.back()) : "";
  if (auto arch = given_arch(context); arch && faulty)
    command += " --arch " + to_string(*arch);
  out(context.json() ? json_of(choice, cases, no_ring, command)
                     : text_of(choice, cases, no_ring, command, context.style));
  if (faulty || any_not_compared(cases))
    return ExitCode::wrong_result;
  bool refused =
      std::ranges::any_of(cases, [](const BlamedCase &blamed) { return !blamed.blame.refusal.empty(); });
  return refused ? ExitCode::illegal_schedule : ExitCode::good;
}

} // namespace nestsmith::cli
