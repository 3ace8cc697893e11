#include "tools/command.h"
#include "tools/tables/compared_figures.h"
#include "tools/tables/explain_text.h"
#include "tools/tables/table.h"

#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

ExitCode compare(const Context &context) {
  const auto &words = context.arguments.positional();
  ChosenGpu chosen = choose_gpu(context);
  Prepared first = prepare(context, choose_rung(context.rungs, words[0]), chosen.gpu);
  Prepared second = prepare(context, choose_rung(context.rungs, words[1]), chosen.gpu);
  auto [a, b] = analyse(std::move(first), std::move(second), chosen.gpu);
  std::string step = in_words(a.analysis, a.scheduled.choice.name, b.analysis);
  if (context.json()) {
    out(json_text([&](llvm::json::OStream &json) {
      json.object([&] {
        json.attributeObject("a", [&] { write_analysis(json, a); });
        json.attributeObject("b", [&] { write_analysis(json, b); });
        json.attribute("in_words", step);
        write_verdict(json, verdict_of(a.analysis, b.analysis));
      });
    }));
    return ExitCode::good;
  }
  const Style &style = context.style;
  Table table({{"figure"},
               {a.scheduled.choice.name, Align::right},
               {b.scheduled.choice.name, Align::right},
               {"change", Align::right}});
  auto measured = [](const Analysed &analysed) {
    const auto &here = analysed.measured.here;
    return !here ? std::string("n/a")
                 : seconds_text(here->record.median_ms * 1e-3) + (here->current ? "" : ", older text");
  };
  if (a.measured.here || b.measured.here)
    table.add({"measured time", measured(a), measured(b),
               a.analysis.measured && b.analysis.measured
                   ? number_text(b.analysis.measured->seconds / a.analysis.measured->seconds) + "x"
                   : ""});
  for (const ComparedFigure &each : compared_figures(a.analysis, b.analysis))
    table.add({each.label, each.a, each.b,
               each.change == 0 || each.a == each.b ? "" : number_text(each.change) + "x"});
  std::string text = fmt::format("{}\n{}\non {} ({})", title(a.scheduled), title(b.scheduled),
                                 chosen.gpu.product, to_string(chosen.gpu.arch));
  text = style.bold(folded_lines(text)) + "\n" +
         (chosen.why.empty() ? "" : style.dim(folded_lines(chosen.why)) + "\n") + "\n" + table.text(style);
  for (const Analysed *analysed : {&a, &b})
    for (const Fact &fact : measured_facts(analysed->measured))
      text +=
          fact.label == "Measured"
              ? folded(fmt::format("{}: measured {}", analysed->scheduled.choice.name, fact.value), "  ", "")
              : "";
  text += "\n" + paragraph_text(step);
  for (const Analysed *analysed : {&a, &b})
    if (!analysed->note.empty() && (analysed == &a || analysed->note != a.note))
      text += "\n" + style.dim(folded_lines(analysed->note)) + "\n";
  out(text);
  return ExitCode::good;
}

} // namespace

Command compare_command() {
  return {"compare",
          "compare two rungs by the figures of explain, and give the reason for the difference",
          "RUNG RUNG",
          2,
          2,
          {gpu_option(), shape_option(), symbolic_option("--shape selects the shape of the prediction"),
           multiple_of_option(), dtype_option(), records_option()},
          "example:\n  nestsmith compare principles/tile32 principles/transposed --gpu A100\n",
          compare};
}

} // namespace nestsmith::cli
