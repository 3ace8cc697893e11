#include "runtime/model/explain.h"
#include "tools/options/command.h"
#include "tools/output/json.h"
#include "tools/output/table.h"
#include "tools/pages/figures/figures.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace nestsmith::cli {

namespace {

std::vector<Figure> chosen_figures(const Context &context) {
  const auto &words = context.arguments.positional();
  std::string tutorial = words.empty() ? "" : words[0];
  std::vector<std::string> known = tutorials_with_figures();
  if (!words.empty() && std::ranges::find(known, tutorial) == known.end())
    throw UserError(ExitCode::usage, fmt::format("there are no figures of a tutorial '{}'; expected {}",
                                                 tutorial, quoted_list(known)));
  std::vector<Figure> list = figures(tutorial);
  if (!context.arguments.has("counts")) {
    Progress progress;
    progress.show("predictions …");
    std::ranges::move(predictions(tutorial), std::back_inserter(list));
  }
  return list;
}

void write_json(const std::vector<Figure> &list) {
  out(json_text([&](llvm::json::OStream &json) {
    json.array([&] {
      for (const Figure &figure : list)
        json.object([&] {
          json.attribute("tutorial", figure.tutorial);
          json.attribute("what", figure.what);
          json.attribute("published", figure.published);
          json.attribute("right", figure.right);
          json.attribute("ours", figure.ours);
          json.attribute("source", std::string(name(figure.source)));
          json.attribute("verdict", std::string(name(verdict(figure))));
          json.attribute("note", figure.note);
        });
    });
  }));
}

std::string markdown(const std::vector<Figure> &list) {
  std::string text = "| post | figure | published | nestsmith | | |\n| --- | --- | ---: | ---: | --- | --- |\n";
  for (const Figure &figure : list)
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", figure.tutorial,
                        figure.what + (figure.note.empty() ? "" : " (" + figure.note + ")"),
                        number_text(figure.published), number_text(figure.ours), name(figure.source),
                        name(verdict(figure)));
  return text;
}

std::string table_text(const std::vector<Figure> &list, const Style &style) {
  Table table({{"figure"}, {"published", Align::right}, {"nestsmith", Align::right}, {"by"}, {"verdict"}});
  std::string above;
  for (const Figure &figure : list) {
    FigureVerdict v = verdict(figure);
    std::string said(name(v));
    if (figure.tutorial != above)
      table.add_line(" " + style.bold(figure.tutorial));
    above = figure.tutorial;
    table.add({figure.what, number_text(figure.published), number_text(figure.ours),
               std::string(name(figure.source)),
               v == FigureVerdict::wrong       ? style.red(said)
               : v == FigureVerdict::corrected ? style.yellow(said)
                                               : said});
  }
  std::string text = table.text(style), notes;
  for (const Figure &figure : list)
    if (verdict(figure) == FigureVerdict::corrected ||
        (figure.source == FigureSource::predicted && !figure.note.empty()))
      notes += folded(fmt::format("{} {}: {}", figure.tutorial, figure.what, figure.note), "    ", "  ");
  return text + (notes.empty() ? "" : "\n" + style.bold("Why") + "\n" + notes);
}

ExitCode run_figures(const Context &context) {
  std::vector<Figure> list = chosen_figures(context);
  bool good = std::ranges::none_of(list, [](const Figure &f) { return verdict(f) == FigureVerdict::wrong; });
  if (context.json())
    write_json(list);
  else
    out(context.arguments.has("markdown") ? markdown(list) : table_text(list, context.style));
  return good ? ExitCode::good : ExitCode::wrong_result;
}

} // namespace

Command figures_command() {
  return {"figures",
          "compare the figures published in the tutorials' posts with ours",
          "[TUTORIAL]",
          0,
          1,
          {{"counts", "", "omit the predictions of times, which take seconds"},
           {"markdown", "", "print the table of docs/figures.md"}},
          "A prediction is a ratio of estimated times. It agrees if it has the same "
          "direction as the measurement. No parameter is fitted to the published figures.\n",
          run_figures};
}

} // namespace nestsmith::cli
