#include "dsl/ir/printer.h"
#include "dsl/schedule/trace.h"
#include "lowering/lower.h"
#include "tools/options/command.h"
#include "tools/options/scheduled.h"
#include "tools/output/highlight.h"
#include "tools/output/json.h"
#include "tools/output/text_diff.h"

#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

/// The heading of a change, and the texts before and after it.
struct Change {
  std::string heading, before, after;
};

std::vector<Change> changes_of(const Schedule &schedule) {
  std::vector<Change> changes;
  for (std::size_t n = 0; n < schedule.trace().size(); ++n)
    changes.push_back({to_cpp(schedule.trace()[n]), print(schedule.step(n)), print(schedule.step(n + 1))});
  return changes;
}

std::string trace_text(const Schedule &schedule) {
  std::string text;
  for (const Directive &directive : schedule.trace())
    text += to_cpp(directive) + "\n";
  return text;
}

std::vector<Change> changes_between(const Scheduled &a, const Scheduled &b, bool lowered) {
  std::string what = fmt::format("{} → {}", a.choice.name, b.choice.name);
  if (lowered)
    return {
        {what + ": the lowered kernels", kernel::print(lower(a.schedule)), kernel::print(lower(b.schedule))}};
  return {{what + ": the directives", trace_text(a.schedule), trace_text(b.schedule)},
          {what + ": the programs", print(a.schedule.program()), print(b.schedule.program())}};
}

void write_json(const std::vector<Change> &changes) {
  out(json_text([&](llvm::json::OStream &json) {
    json.array([&] {
      for (const Change &change : changes)
        json.object([&] {
          json.attribute("change", change.heading);
          json.attributeArray("lines", [&] {
            for (const DiffLine &line : diff_lines(change.before, change.after))
              json.value(std::string(1, static_cast<char>(line.sign)) + line.text);
          });
        });
    });
  }));
}

ExitCode run_diff(const Context &context) {
  const auto &words = context.arguments.positional();
  Scheduled first = schedule_choice(context, given_rung(context));
  std::vector<Change> changes;
  if (words.size() == 2) {
    Scheduled second = schedule_choice(context, choose_rung(context.rungs, words[1]));
    changes = changes_between(first, second, context.arguments.has("lowered"));
  } else if (context.arguments.has("lowered")) {
    throw UserError(ExitCode::usage, "'diff --lowered' compares two rungs; name the second");
  } else {
    changes = changes_of(first.schedule);
  }
  if (context.json()) {
    write_json(changes);
    return ExitCode::good;
  }
  const Style &style = context.style;
  std::string text = style.bold(folded_lines(title(first))) + "\n";
  std::size_t step = 0;
  for (const Change &change : changes) {
    std::string number = words.size() == 1 ? style.dim(fmt::format("{:>3} ", ++step)) : "";
    std::size_t width = output_width() - 2; // after the sign
    std::vector<DiffLine> lines =
        diff_lines(folded_code(change.before, width), folded_code(change.after, width));
    text += "\n" + number + style.bold(folded_code(change.heading, output_width() - 4)) + "\n\n";
    text += any_change(lines) ? render_diff(lines, style) : style.dim("  (unchanged)") + "\n";
  }
  out(text);
  return ExitCode::good;
}

} // namespace

Command diff_command() {
  return {"diff",
          "print the changes of each directive, or the differences between two rungs",
          "RUNG [RUNG]",
          1,
          2,
          {shape_option(),
           symbolic_option("--shape changes only the title"),
           multiple_of_option(),
           dtype_option(),
           set_option(),
           table_option(),
           {"lowered", "", "with two rungs, compare their lowered kernels instead of their programs"}},
          "examples:\n  nestsmith diff deep_dive/shared\n"
          "  nestsmith diff deep_dive/naive deep_dive/coalesced --color always | less -R\n",
          run_diff};
}

} // namespace nestsmith::cli
