#include "tools/command.h"
#include "tools/json.h"
#include "tools/machine.h"
#include "tools/output_file.h"
#include "tools/report/sections.h"
#include "tools/run_notes.h"

#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

using report::Language;
using report::Page;

Language chosen_language(const Context &context) {
  return context.arguments.value("lang") == "ko" ? Language::ko : Language::en;
}

/// The rungs of the page. With --against, the other rung is first.
std::vector<Choice> chosen_rungs(const Context &context) {
  const auto &words = context.arguments.positional();
  auto against = context.arguments.value("against");
  if (against && words.size() != 1)
    throw UserError(ExitCode::usage,
                    fmt::format("'report --against' compares one rung with another, got {}; name one rung",
                                words.empty() ? std::string("none") : std::to_string(words.size())));
  std::vector<Choice> choices;
  if (against) {
    choices.push_back(choose_rung(context.rungs, *against));
    choices.push_back(choose_rung(context.rungs, words.front()));
  } else {
    choices = choose_rungs(context.rungs, words);
  }
  for (Choice &choice : choices)
    choice = with_given_knobs(context, std::move(choice));
  if (choices.empty())
    throw UserError(ExitCode::usage, "there is no rung to report; name a trace file");
  return choices;
}

std::string size_text(std::size_t bytes) { return fmt::format("{:.0f} kB", static_cast<double>(bytes) * 1e-3); }

ExitCode run(const Context &context) {
  auto path = context.arguments.value("output");
  if (!path)
    throw UserError(ExitCode::usage, "'report' writes a file; name it, as in -o report.html");
  Page page = report::gather(context, chosen_rungs(context));
  std::string text = report::write_page(page, chosen_language(context));
  write_file(*path, text);
  std::vector<Climbed> rows;
  for (const report::PageRung &rung : page.rungs)
    rows.push_back(rung.climbed);
  ExitCode code = code_of(rows);
  if (context.json())
    out(json_text([&](llvm::json::OStream &json) {
      json.object([&] {
        json.attribute("file", *path);
        json.attribute("bytes", static_cast<std::int64_t>(text.size()));
        json.attribute("rungs", static_cast<std::int64_t>(rows.size()));
        json.attribute("passed", code == ExitCode::good);
      });
    }));
  else
    out(folded_lines(fmt::format("{}: {} rung{}, {}", *path, rows.size(), rows.size() == 1 ? "" : "s",
                                 size_text(text.size()))) +
        "\n");
  return code;
}

} // namespace

Command report_command() {
  return {
      "report",
      "write a page with charts, explanations and steps of rungs, as one HTML file",
      "[RUNG or TUTORIAL …]",
      0,
      1000,
      {{"output", "FILE", "write the page to FILE; an error leaves no partial file", 'o'},
       {"against", "RUNG", "compare one rung with this rung"},
       {"lang", "LANGUAGE", "language of the labels; generated text is English", 0, {"en", "ko"}},
       gpu_option(),
       shape_option(),
       symbolic_option(),
       multiple_of_option(),
       dtype_option(),
       set_option(),
       table_option(),
       device_option(),
       arch_option()},
      "The page needs no network and no other file. It has the results of run, the predictions of explain, and "
      "a slider through the directives of each rung, with the program, the kernel and the CUDA C after each "
      "directive.\n\n"
      "Without a RUNG, it shows the first tutorial. The exit code is that of run.\n\n"
      "examples:\n"
      "  nestsmith report deep_dive -o deep_dive.html\n"
      "  nestsmith report mine.json --against deep_dive/shared -o mine.html\n",
      run};
}

} // namespace nestsmith::cli
