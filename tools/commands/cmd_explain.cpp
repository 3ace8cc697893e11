#include "dsl/ir/atomics.h"
#include "tools/advice/advice.h"
#include "tools/advice/causes.h"
#include "tools/options/command.h"
#include "tools/options/machine.h"
#include "tools/output/output_file.h"
#include "tools/results/timeline_file.h"
#include "tools/tables/explain_text.h"
#include "tools/tables/fragment_picture.h"
#include "tools/tables/heatmap.h"

#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

std::string heading(const Analysed &analysed, const ChosenGpu &chosen, const Style &style) {
  const Gpu &gpu = analysed.analysis.gpu;
  std::string text =
      style.bold(title(analysed.scheduled)) + fmt::format(" on {} ({})", gpu.product, to_string(gpu.arch));
  return folded(text, "  ", "") + (chosen.why.empty() ? "" : style.dim(folded_lines(chosen.why)) + "\n");
}

/// The file of --timeline. Throws UserError (usage) before a long analysis if it cannot be written.
std::optional<std::string> timeline_path(const Context &context) {
  std::optional<std::string> path = context.arguments.value("timeline");
  if (!path)
    return path;
  if (context.arguments.has("heatmap"))
    throw UserError(ExitCode::usage, "--timeline and --heatmap exclude each other: use one of them");
  check_writable(*path);
  return path;
}

/// Writes the time line, and returns a sentence about it.
std::string write_timeline(const std::string &path, const Analysed &analysed, const kernel::Plan &plan) {
  model::Timeline line = timeline_of(analysed.analysis, plan);
  write_file(path, chrome_trace(line, analysed.analysis, title(analysed.scheduled)));
  return fmt::format("{}: {}; open it in https://ui.perfetto.dev", path, summary(line));
}

ExitCode run_explain(const Context &context) {
  std::optional<std::string> file = timeline_path(context);
  ChosenRung choice = given_rung(context);
  ChosenGpu chosen = gpu_and_shape(context, choice);
  Prepared prepared = prepare(context, choice, chosen.gpu);
  if (context.arguments.has("heatmap"))
    if (Buffer fragment =
            find_fragment(prepared.scheduled.schedule.program(), *context.arguments.value("heatmap")))
      return show_fragment(context, prepared.scheduled, fragment);
  if (context.arguments.has("heatmap"))
    return show_heatmap(context, analyse(std::move(prepared), chosen.gpu), *context.arguments.value("heatmap"));
  std::string note;
  kernel::Plan plan = prepared.plan;
  std::optional<Analysed> before;
  std::optional<Prepared> other = prepare_baseline(context, prepared.scheduled, chosen.gpu, note);
  auto analyse_all = [&] {
    if (!other)
      return analyse(std::move(prepared), chosen.gpu);
    auto both = analyse(std::move(*other), std::move(prepared), chosen.gpu);
    before = std::move(both.first);
    return std::move(both.second);
  };
  Analysed analysed = analyse_all();
  std::string written = file ? write_timeline(*file, analysed, plan) : "";
  std::string alone = in_words(analysed.analysis);
  Advice advice = advise(analysed);
  std::string hint = to_text(advice), lesson = lesson_note(context.rungs, analysed.scheduled, chosen.gpu);
  std::string step = before ? in_words(before->analysis, before->scheduled.choice.name, analysed.analysis) +
                                  causes(*before, analysed)
                            : "";
  if (context.json()) {
    out(json_text([&](llvm::json::OStream &json) {
      json.object([&] {
        write_analysis(json, analysed);
        if (const auto &use = analysed.scheduled.use)
          write_use(json, *use);
        json.attribute("in_words", alone);
        json.attribute("nondeterministic",
                       llvm::json::Array(nondeterministic_results(analysed.scheduled.schedule.program())));
        if (file)
          json.attribute("timeline", written);
        write_advice(json, advice);
        if (!lesson.empty())
          json.attribute("lesson", lesson);
        if (before) {
          json.attribute("against", before->scheduled.choice.name);
          json.attribute("against_least_seconds", before->analysis.seconds());
          json.attribute("against_limiter", std::string(name(before->analysis.limiter())));
          json.attribute("step_in_words", step);
          write_verdict(json, verdict_of(before->analysis, analysed.analysis));
        }
      });
    }));
    return ExitCode::good;
  }
  const Style &style = context.style;
  std::string text = heading(analysed, chosen, style);
  if (const auto &use = analysed.scheduled.use) {
    text += "\n" + style.bold("Knobs") + "\n" +
            paragraph_text(analysed.scheduled.choice.name + " " + to_text(*use));
    if (const std::string why = why_text(*use); !why.empty())
      text += paragraph_text(why);
  }
  text += analysis_text(analysed, style);
  text += "\n" + style.bold("In words") + "\n" + paragraph_text(alone + (hint.empty() ? "" : " " + hint));
  if (before)
    text += "\n" + style.bold("Against " + before->scheduled.choice.name) + "\n" + paragraph_text(step);
  if (context.arguments.has("metrics"))
    text += metrics_text(analysed.analysis, style);
  std::string remarks =
      "\n"
      "Counts refer to the operations of the lowered kernel. Bounds count only operations that "
      "the compiler is expected to keep.\n"
      "The bounds ignore latency.\n"
      "[bound]: a lower bound on a time, or derived from one. [modelled]: computed with a "
      "model of the caches or of the compiler.";
  std::vector<std::string> lines = nondeterministic_results(analysed.scheduled.schedule.program());
  lines.insert(lines.end(), {analysed.note, note, lesson});
  for (const std::string &line : lines)
    remarks += line.empty() ? "" : "\n" + line;
  text += style.dim(folded_lines(remarks)) + "\n";
  if (file)
    text += "\n" + style.bold("Time line") + "\n" + paragraph_text(written);
  out(text);
  return ExitCode::good;
}

} // namespace

Command explain_command() {
  return {
      "explain",
      "predict the performance on a GPU: speed of light, memory, occupancy, launch",
      "RUNG",
      1,
      1,
      {gpu_option(),
       arch_option("the architecture of the GPU"),
       {"against", "RUNG", "compare with this rung; default: the rung on which it builds"},
       {.name = "heatmap",
        .value = "ACCESS",
        .help = "draw the banks or sectors of one access, given by number or buffer, or the "
                "lanes and registers of a fragment; default: the most "
                "expensive access",
        .optional_value = true},
       {"timeline", "FILE",
        "write what the estimate executes on one SM (warps and their roles, units, copies, barriers, stalls) "
        "as a Chrome trace, which Perfetto opens; warps that fill tiles show their fills and waits"},
       {"metrics", "", "also print every metric with its profiler name"},
       shape_option(),
       symbolic_option("--shape selects the shape of the prediction"),
       multiple_of_option(),
       rows_multiple_of_option(),
       dtype_option(),
       set_option(),
       table_option(),
       records_option()},
      "examples:\n  nestsmith explain deep_dive/coalesced --gpu H200 --shape 4096x4096x4096\n"
      "  nestsmith explain mine.json --against deep_dive/shared\n"
      "  nestsmith explain principles/transposed --heatmap B_shared\n"
      "  nestsmith explain ladder/prefetch --timeline out.json\n",
      run_explain};
}

} // namespace nestsmith::cli
