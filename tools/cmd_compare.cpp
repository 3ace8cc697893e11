#include "tools/command.h"
#include "tools/explain_text.h"

#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

struct Line {
  std::string label, a, b;
  double change; ///< second / first; 0: not a number
};

Line line(const std::string &label, double a, double b, std::string (*text)(double)) {
  return {label, text(a), text(b), a == 0 ? 0 : b / a};
}

std::vector<Line> lines(const PlanAnalysis &a, const PlanAnalysis &b) {
  std::vector<Line> list = {{"bound by", std::string(name(a.limiter())), std::string(name(b.limiter())), 0},
                            line("least time", a.seconds(), b.seconds(), seconds_text)};
  for (Resource resource : resources)
    list.push_back(
        line("  " + std::string(name(resource)), a.seconds(resource), b.seconds(resource), seconds_text));
  auto memory = [&](const char *label, Scope scope, bool stores, double (model::RequestSums::*each)() const) {
    model::RequestSums x = a.total(scope, stores), y = b.total(scope, stores);
    bool global = scope == Scope::global;
    list.push_back(line(fmt::format("{}: requests", label), static_cast<double>(x.requests),
                        static_cast<double>(y.requests), count_text));
    list.push_back(line(fmt::format("  {} per request", global ? "sectors" : "wavefronts"), (x.*each)(),
                        (y.*each)(), number_text));
    if (!global)
      list.push_back(line("  bank conflicts", static_cast<double>(x.conflicts),
                          static_cast<double>(y.conflicts), count_text));
  };
  memory("global loads", Scope::global, false, &model::RequestSums::sectors_per_request);
  memory("global stores", Scope::global, true, &model::RequestSums::sectors_per_request);
  memory("shared loads", Scope::shared, false, &model::RequestSums::wavefronts_per_request);
  memory("shared stores", Scope::shared, true, &model::RequestSums::wavefronts_per_request);
  list.push_back(line("bytes requested", a.asked_bytes(), b.asked_bytes(), bytes_text));
  list.push_back(line("DRAM bytes (modelled)", a.dram_bytes(), b.dram_bytes(), bytes_text));
  list.push_back(line("FLOP/byte requested", a.asked_intensity(), b.asked_intensity(), number_text));
  list.push_back(line("occupancy", a.slowest().occupancy.ratio(), b.slowest().occupancy.ratio(), percent_text));
  auto registers = [](const PlanAnalysis &analysis) {
    return analysis.slowest().compiled ? std::to_string(analysis.slowest().compiled->registers) : "n/a";
  };
  list.push_back({"registers per thread", registers(a), registers(b), 0});
  list.push_back(line("shared bytes per block", static_cast<double>(a.slowest().kernel.shared_bytes),
                      static_cast<double>(b.slowest().kernel.shared_bytes), count_text));
  list.push_back(line("active lanes", a.slowest().active_lanes(), b.slowest().active_lanes(), number_text));
  list.push_back(line("blocks of the busiest SM", static_cast<double>(a.slowest().waves.busiest),
                      static_cast<double>(b.slowest().waves.busiest), count_text));
  return list;
}

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
      });
    }));
    return ExitCode::good;
  }
  const Style &style = context.style;
  Table table({{"figure"},
               {a.scheduled.choice.name, Align::right},
               {b.scheduled.choice.name, Align::right},
               {"change", Align::right}});
  for (const Line &each : lines(a.analysis, b.analysis))
    table.add({each.label, each.a, each.b,
               each.change == 0 || each.a == each.b ? "" : number_text(each.change) + "x"});
  std::string text = fmt::format("{}\n{}\non {} ({})", title(a.scheduled), title(b.scheduled),
                                 chosen.gpu.product, to_string(chosen.gpu.arch));
  text = style.bold(folded_lines(text)) + "\n" +
         (chosen.why.empty() ? "" : style.dim(folded_lines(chosen.why)) + "\n") + "\n" + table.text(style);
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
           multiple_of_option(), dtype_option()},
          "example:\n  nestsmith compare principles/tile32 principles/transposed --gpu A100\n",
          compare};
}

} // namespace nestsmith::cli
