#include "dsl/ir/atomics.h"
#include "dsl/ir/printer.h"
#include "dsl/schedule/trace.h"
#include "lowering/lower.h"
#include "tools/options/command.h"
#include "tools/options/machine.h"
#include "tools/options/scheduled.h"
#include "tools/output/highlight.h"
#include "tools/output/json.h"
#include "tools/output/output_file.h"

#include <fmt/format.h>
#include <limits>

namespace nestsmith::cli {

namespace {

/// A line of code after its number, wrapped.
std::string numbered(std::size_t number, const std::string &code, const Style &style, std::size_t width) {
  std::string text = folded_code(code, width - 4);
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; ++at)
    text.insert(at + 1, "    ");
  return fmt::format("{} {}\n", style.dim(fmt::format("{:>3}", number)), highlight(text, style));
}

/// The trace, with a numbered line for each directive.
std::string numbered_trace(const Schedule &schedule, const Style &style, std::size_t width) {
  std::string text;
  for (std::size_t n = 0; n < schedule.trace().size(); ++n)
    text += numbered(n + 1, to_cpp(schedule.trace()[n]), style, width);
  return text;
}

std::string obligations_text(const Schedule &schedule, const Style &style) {
  std::string text;
  for (const Obligation &obligation : schedule.obligations())
    text += folded_lines(
        fmt::format("{} {} (step {})\n", style.yellow("owed:"), obligation.message, obligation.directive));
  return text;
}

std::size_t chosen_step(const Context &context, const Schedule &schedule) {
  std::size_t last = schedule.trace().size();
  auto given = context.arguments.number("step");
  if (given && static_cast<std::size_t>(*given) > last)
    throw UserError(
        ExitCode::usage,
        fmt::format("option '--step' must be at most {}, the number of directives, got {}", last, *given));
  return given ? static_cast<std::size_t>(*given) : last;
}

/// Writes to the file of --output, or to stdout.
void deliver(const Context &context, const std::string &text) {
  if (auto path = context.arguments.value("output"))
    write_file(*path, text);
  else
    out(text);
}

std::string as_json(const Scheduled &scheduled, std::size_t step, bool lowered) {
  return json_text([&](llvm::json::OStream &json) {
    json.object([&] {
      json.attribute("rung", scheduled.choice.name);
      json.attribute("shape", llvm::json::Array(scheduled.shape));
      json.attribute("dtype", dtype_name(scheduled.schedule.source(), scheduled.dtype));
      if (scheduled.variant)
        json.attribute("variant", scheduled.variant->name);
      if (scheduled.use)
        write_use(json, *scheduled.use);
      json.attribute("step", static_cast<std::int64_t>(step));
      json.attributeArray("directives", [&] {
        for (const Directive &directive : scheduled.schedule.trace())
          json.value(to_cpp(directive));
      });
      json.attributeArray("obligations", [&] {
        for (const Obligation &obligation : scheduled.schedule.obligations())
          json.object([&] {
            json.attribute("message", obligation.message);
            json.attribute("step", static_cast<std::int64_t>(obligation.directive));
          });
      });
      json.attribute("nondeterministic",
                     llvm::json::Array(nondeterministic_results(scheduled.schedule.program())));
      json.attribute("program", print(scheduled.schedule.step(step)));
      if (lowered)
        json.attribute("kernel", kernel::print(lower(scheduled.schedule)));
    });
  });
}

ExitCode run_show(const Context &context) {
  const Arguments &arguments = context.arguments;
  if (arguments.has("step") + arguments.has("lowered") + arguments.has("trace") > 1)
    throw UserError(ExitCode::usage, "--step, --lowered and --trace exclude each other; give one");
  Target target = simulated_target(context);
  Scheduled scheduled = schedule_choice(context, given_rung(context), target);
  const Style style = arguments.has("output") ? Style(Colour::never) : context.style;
  if (auto form = arguments.value("trace")) {
    // The JSON result is the trace file itself, so that it can be replayed.
    bool cpp = *form == "cpp" && !context.json();
    deliver(context,
            cpp ? highlight(trace_to_cpp(scheduled.schedule), style)
                : to_json(trace_file(scheduled.schedule, scheduled.shape, scheduled.dtype, scheduled.knobs)));
    return ExitCode::good;
  }
  std::size_t step = chosen_step(context, scheduled.schedule);
  if (context.json()) {
    deliver(context, as_json(scheduled, step, arguments.has("lowered")));
    return ExitCode::good;
  }
  std::size_t width = arguments.has("output") ? std::numeric_limits<std::size_t>::max() : output_width();
  std::string text = style.bold(folded_lines(title(scheduled)));
  if (arguments.has("lowered")) {
    text += style.dim("  lowered") + "\n\n" +
            highlight(folded_code(kernel::print(lower(scheduled.schedule)), width), style);
  } else if (arguments.has("step")) {
    std::string directive =
        step == 0 ? style.dim("the computation")
                  : highlight(folded_code(to_cpp(scheduled.schedule.trace()[step - 1]), width), style);
    text += style.dim(fmt::format("  step {} of {}", step, scheduled.schedule.trace().size())) + "\n\n" +
            directive + "\n\n" + highlight(folded_code(print(scheduled.schedule.step(step)), width), style);
  } else {
    text += "\n" + style.dim(folded_lines(scheduled.choice.summary)) + "\n\n" +
            numbered_trace(scheduled.schedule, style, width) + "\n" +
            highlight(folded_code(print(scheduled.schedule.program()), width), style);
  }
  if (std::string owed = obligations_text(scheduled.schedule, style);
      !owed.empty() && !arguments.has("lowered"))
    text += "\n" + owed;
  for (const std::string &result : nondeterministic_results(scheduled.schedule.step(step)))
    text += "\n" + style.yellow(folded_lines(result)) + "\n";
  deliver(context, text);
  return ExitCode::good;
}

} // namespace

Command show_command() {
  return {"show",
          "print the program after a directive, the lowered kernel, or the trace",
          "RUNG",
          1,
          1,
          {shape_option(),
           symbolic_option("--shape changes only the title"),
           multiple_of_option(),
           rows_multiple_of_option(),
           dtype_option(),
           set_option(),
           table_option(),
           arch_option("that of a trace, else sm_80"),
           {"step", "N", "print the program after the first N directives; 0 is the computation itself"},
           {"lowered", "", "print the lowered kernel"},
           {"trace",
            "FORM",
            "print the directives as C++ or as JSON; a JSON file is accepted as a RUNG",
            0,
            {"cpp", "json"}},
           {"output", "FILE", "write to FILE instead of stdout; an error leaves no partial file", 'o'}},
          "examples:\n  nestsmith show deep_dive/shared --step 4\n"
          "  nestsmith show deep_dive/shared --trace json -o shared.json\n",
          run_show};
}

} // namespace nestsmith::cli
