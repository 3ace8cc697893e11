#include "tools/advice/causes.h"
#include "tools/options/command.h"
#include "tools/output/table.h"
#include "tools/tables/compared_figures.h"
#include "tools/tables/explain_text.h"

#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

/// The rung on which `rung` builds.
ChosenRung baseline(const Context &context, const ChosenRung &rung) {
  if (std::optional<ChosenRung> before = rung_before(context.rungs, rung))
    return *before;
  throw UserError(ExitCode::usage,
                  fmt::format("{} builds on no other rung; name two rungs: nestsmith compare OTHER {}",
                              rung.name, rung.name));
}

ExitCode run_compare(const Context &context) {
  const auto &words = context.arguments.positional();
  ChosenRung before = choose_rung(context.rungs, words[0]), after = choose_rung(context.rungs, words.back());
  bool one = words.size() == 1;
  ChosenGpu chosen = one ? gpu_and_shape(context, after) : choose_gpu(context);
  if (one) {
    before = baseline(context, after);
    before.gpu_shape = after.gpu_shape;
  }
  Prepared first = prepare(context, before, chosen.gpu);
  Prepared second = prepare(context, after, chosen.gpu);
  auto [a, b] = analyse(std::move(first), std::move(second), chosen.gpu);
  std::string step = in_words(a.analysis, a.scheduled.choice.name, b.analysis) + causes(a, b);
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
          "[RUNG] RUNG",
          1,
          2,
          {gpu_option(), shape_option(), symbolic_option("--shape selects the shape of the prediction"),
           multiple_of_option(), dtype_option(), records_option()},
          "A single rung is compared with the rung on which it builds.\n"
          "examples:\n  nestsmith compare principles/tile32 principles/transposed --gpu A100\n"
          "  nestsmith compare tensor/ahead --gpu H200\n",
          run_compare};
}

} // namespace nestsmith::cli
