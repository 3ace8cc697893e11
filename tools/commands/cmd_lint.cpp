#include "tools/options/command.h"
#include "tools/output/json.h"
#include "tools/pages/mistakes/mistakes.h"

#include <fmt/format.h>
#include <set>

namespace nestsmith::cli {

namespace {

/// All mistakes, those of a tutorial, or a single one.
std::vector<const Mistake *> chosen_mistakes(const Arguments &arguments) {
  std::vector<const Mistake *> found;
  std::set<std::string> known;
  std::string wanted = arguments.positional().empty() ? "" : arguments.positional()[0];
  for (const Mistake &mistake : mistakes()) {
    known.insert(mistake.tutorial);
    known.insert(mistake.full_name());
    if (wanted.empty() || wanted == mistake.tutorial || wanted == mistake.full_name())
      found.push_back(&mistake);
  }
  if (found.empty())
    throw UserError(ExitCode::usage,
                    with_hint(fmt::format("there is no mistake '{}' and no tutorial of that name "
                                          "with a mistake; `nestsmith lint` shows all",
                                          wanted),
                              wanted, {known.begin(), known.end()}));
  return found;
}

std::string paragraph(const std::string &title, const std::string &text, const Style &style) {
  return folded(text, std::string(16, ' '), "  " + style.dim(fmt::format("{:<14}", title)));
}

std::string lint_text(const Mistake &mistake, const LintResult &result, bool whole, const Style &style) {
  bool caught = result.verdict != LintVerdict::passed;
  std::string verdict(name(result.verdict));
  std::string text = fmt::format("{} {}  {}\n", caught ? style.green("✓") : style.red("✗"),
                                 style.bold(mistake.full_name()), caught ? verdict : style.red("not caught"));
  text += paragraph("claim", mistake.claim, style) + paragraph("correct", mistake.truth, style);
  std::size_t shown = whole ? result.said.size() : std::min<std::size_t>(result.said.size(), 1);
  for (std::size_t n = 0; n < shown; ++n)
    text += paragraph(n == 0 ? "nestsmith" : "", result.said[n], style);
  text += paragraph("correct rung", mistake.rung, style);
  if (whole)
    return text + "\n" + result.example;
  return text + paragraph("details", "nestsmith lint " + mistake.full_name(), style);
}

ExitCode run_lint(const Context &context) {
  std::vector<const Mistake *> list = chosen_mistakes(context.arguments);
  std::vector<LintResult> results;
  Progress progress;
  std::size_t caught = 0;
  for (const Mistake *mistake : list) {
    progress.step(mistake->full_name() + " …");
    results.push_back(lint(*mistake));
    caught += results.back().verdict != LintVerdict::passed;
  }
  progress.clear();
  ExitCode code = caught == list.size() ? ExitCode::good : ExitCode::wrong_result;
  if (context.json()) {
    out(json_text([&](llvm::json::OStream &json) {
      json.array([&] {
        for (std::size_t n = 0; n < list.size(); ++n)
          json.object([&] {
            json.attribute("name", list[n]->full_name());
            json.attribute("claim", list[n]->claim);
            json.attribute("truth", list[n]->truth);
            json.attribute("verdict", name(results[n].verdict).data());
            json.attribute("said", llvm::json::Array(results[n].said));
            json.attribute("mended", list[n]->rung);
            json.attribute("command", "nestsmith lint " + list[n]->full_name());
          });
      });
    }));
    return code;
  }
  std::string text;
  bool whole = !context.arguments.positional().empty() && list.size() == 1 &&
               context.arguments.positional()[0] == list[0]->full_name();
  for (std::size_t n = 0; n < list.size(); ++n)
    text += (n == 0 ? "" : "\n") + lint_text(*list[n], results[n], whole, context.style);
  if (!whole)
    text += fmt::format("\n{} of {} mistakes caught\n", caught, list.size()) +
            context.style.dim(
                folded_lines("refused: by a directive. reported: by the simulator. counted: our counters "
                             "contradict the claim.")) +
            "\n";
  out(text);
  return code;
}

} // namespace

Command lint_command() {
  return {"lint",
          "run the mistakes in the tutorials' blog posts, and show how each is detected",
          "[TUTORIAL or MISTAKE]",
          0,
          1,
          {},
          "With the name of a mistake, also print its kernel and all diagnostics.\n\n"
          "examples:\n"
          "  nestsmith lint tvm_steps\n"
          "  nestsmith lint deep_dive/row_modulo_n\n",
          run_lint};
}

} // namespace nestsmith::cli
