#include "dsl/expr/error.h"
#include "runtime/model/explain.h"
#include "tools/options/command.h"
#include "tools/options/scheduled.h"
#include "tools/output/json.h"
#include "tools/results/analysed.h"
#include "tools/tables/run_notes.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>

namespace nestsmith::cli {

namespace {

/// The errors of a row, below it; `alone`: with the program that was refused.
std::string failure_text(const Climbed &row, bool alone) {
  std::string text;
  for (const std::string &message : row.check.messages())
    text += folded(message, "     ", "   ");
  if (!row.failure.message.empty())
    text += folded(row.failure.message, "     ", "   ") + (alone ? row.failure.details : "");
  return text;
}

void write_published(llvm::json::OStream &json, const PublishedTable &table, const PublishedRow &row) {
  json.attributeObject("published", [&] {
    json.attribute("source", table.source);
    json.attribute("unit", table.unit);
    for (const PublishedFigure &figure : row.figures)
      json.attribute(std::to_string(figure.edge), figure.value);
  });
}

void write_figures(llvm::json::OStream &json, const PlanAnalysis &analysis) {
  json.attribute("gpu", analysis.gpu.name);
  json.attribute("sectors_per_request", analysis.total(Scope::global, false).sectors_per_request());
  json.attribute("bank_conflicts", static_cast<std::int64_t>(analysis.total(Scope::shared, false).conflicts +
                                                             analysis.total(Scope::shared, true).conflicts));
  json.attribute("flop_per_byte_asked", json_number(analysis.asked_intensity()));
  json.attribute("occupancy", analysis.slowest().occupancy.ratio());
  json.attribute("limiter", std::string(name(analysis.limiter())));
  json.attribute("least_ms", 1e3 * analysis.seconds());
}

void write_row(llvm::json::OStream &json, const Context &context, const Climbed &row) {
  json.attribute("rung", row.name);
  json.attribute("shape", llvm::json::Array(row.shape));
  json.attribute("dtype", row.dtype);
  if (row.variant) {
    json.attribute("variant", row.variant->name);
    json.attribute("variant_because", row.variant->why);
  }
  if (row.use) {
    write_use(json, *row.use);
    json.attributeBegin("knobs");
    write_knobs(json, row.knobs);
    json.attributeEnd();
  }
  if (row.ms) {
    json.attribute("time_ms", row.ms->median);
    json.attribute("min_ms", row.ms->min);
    json.attribute("max_ms", row.ms->max);
    json.attribute("runs", cuda::single_launches.rounds);
    json.attribute("cold_l2", false);
    json.attribute("gflops", row.gflops());
  }
  if (row.cublas_ms) {
    json.attribute("cublas_ms", *row.cublas_ms);
    json.attribute("percent_of_cublas", 100 * *row.cublas_ms / row.ms->median);
  }
  if (const RunResult *random = row.check.find(CheckRun::random)) {
    json.attribute("max_error", json_number(random->max_error));
    json.attribute("error_over_bound", json_number(random->max_error_over_bound));
  }
  if (auto exact = row.check.exact())
    json.attribute("integers_exact", *exact);
  if (!row.compiled.empty()) {
    std::int64_t registers = 0, spills = 0;
    for (const cuda::Compiled &kernel : row.compiled) {
      registers = std::max<std::int64_t>(registers, kernel.registers);
      spills += kernel.spill_stores + kernel.spill_loads;
    }
    json.attribute("arch", to_string(row.compiled[0].arch));
    json.attribute("kernels", static_cast<std::int64_t>(row.compiled.size()));
    json.attribute("registers", registers); // maximum over the kernels
    json.attribute("spill_bytes", spills);
  }
  json.attribute("shared_bytes", row.shared_bytes);
  if (row.analysis)
    write_figures(json, *row.analysis);
  if (const PublishedRow *figures = published_row(context, row.name))
    write_published(json, *published_table(context, row.name), *figures);
  json.attribute("verdict", verdict(row));
  if (!row.failure.requirement.empty())
    json.attribute("requirement", row.failure.requirement);
  write_outputs(json, row.check);
  write_skipped(json, row.check);
  json.attributeArray("messages", [&] {
    for (const std::string &message : row.check.messages())
      json.value(message);
    if (!row.failure.message.empty())
      json.value(row.failure.message);
  });
}

void write_machine(llvm::json::OStream &json, const Machine &machine) {
  json.attribute("device", std::string(machine.executor->name()));
  json.attribute("simulated", machine.simulated());
}

std::string heading(const std::vector<std::string> &problems, const Machine &machine, const Gpu *gpu,
                    const Style &style) {
  bool one = std::ranges::count(problems, problems.front()) == std::ssize(problems);
  return folded((one ? style.bold(problems.front()) + " " : "") + where_text(machine, gpu), "  ", "") + "\n";
}

/// Prints each row when its rung finishes, so that the rows remain if the climb is interrupted.
std::vector<Climbed> climb_all(Climb &climb, const std::vector<Planned> &planned,
                               const std::function<void(std::size_t, const Climbed &)> &print) {
  std::vector<Climbed> rows;
  Progress progress;
  for (const Planned &rung : planned) {
    progress.show(fmt::format("{} of {}: {} …", rows.size() + 1, planned.size(), rung.choice.name));
    rows.push_back(climb.run(rung));
    progress.clear();
    print(rows.size() - 1, rows.back());
  }
  return rows;
}

ExitCode climb_as_text(const Context &context, const Machine &machine, Climb &climb,
                       const std::vector<Planned> &planned, const std::string &spared) {
  const Style &style = context.style;
  RunTableFacts facts = facts_of(context, planned, machine);
  RunTable table(facts, output_width(), style);
  out(heading(facts.problems, machine, climb.analysed_gpu(), style) + table.header());
  std::vector<Climbed> rows = climb_all(climb, planned, [&](std::size_t n, const Climbed &row) {
    out(table.row(n, row) + failure_text(row, planned.size() == 1));
  });
  std::string text;
  auto compared = std::ranges::find_if(rows, [](const Climbed &row) { return row.cublas_ms.has_value(); });
  bool one = std::ranges::count(facts.problems, facts.problems.front()) == std::ssize(facts.problems);
  if (compared != rows.end() && one)
    text += table.cublas_row(climb.cublas_name(), *compared);
  text += style.dim(folded_lines(variant_notes(rows)));
  text += style.dim(folded_lines(table_notes(rows)));
  text += style.dim(folded_lines(skipped_notes(rows)));
  text += style.dim(folded_lines(published_notes(context, rows, table.shows_published())));
  std::vector<std::string> notes = climb.notes();
  notes.push_back(spared);
  for (const std::string &note : notes)
    text += note.empty() ? "" : "\n" + style.dim(folded_lines(note)) + "\n";
  out(text);
  return code_of(rows);
}

/// One object per line: the rungs, then the climb.
ExitCode climb_as_json(const Context &context, const Machine &machine, Climb &climb,
                       const std::vector<Planned> &planned, const std::string &spared) {
  auto line = [&](const std::function<void(llvm::json::OStream &)> &write) {
    out(json_line([&](llvm::json::OStream &json) { json.object([&] { write(json); }); }) + "\n");
  };
  std::vector<Climbed> rows = climb_all(climb, planned, [&](std::size_t, const Climbed &row) {
    line([&](llvm::json::OStream &json) {
      write_row(json, context, row);
      write_machine(json, machine);
    });
  });
  std::vector<std::string> notes = climb.notes();
  if (!spared.empty())
    notes.push_back(spared);
  line([&](llvm::json::OStream &json) {
    json.attribute("climbed", static_cast<std::int64_t>(rows.size()));
    json.attribute("passed", code_of(rows) == ExitCode::good);
    write_machine(json, machine);
    if (!climb.cublas_name().empty())
      json.attribute("cublas", climb.cublas_name());
    json.attribute("notes", llvm::json::Array(notes));
  });
  return code_of(rows);
}

ExitCode run_rungs(const Context &context) {
  std::vector<ChosenRung> choices;
  for (ChosenRung &choice : choose_rungs(context.rungs, context.arguments.positional()))
    choices.push_back(with_given_knobs(context, std::move(choice)));
  if (choices.empty())
    throw UserError(ExitCode::usage, "there is no rung to run; name a trace file");
  std::string spared = spare_other_ranks(context, choices);
  for (const ChosenRung &choice : choices) // report command line mistakes before the first result
    chosen_shape(context, choice);
  Machine machine = choose_machine(context);
  Climb climb(context, machine);
  std::vector<Planned> planned = climb.plan_all(choices);
  return (context.json() ? climb_as_json : climb_as_text)(context, machine, climb, planned, spared);
}

} // namespace

Command run_command() {
  return {
      "run",
      "run and check rungs, and print one table row for each",
      "[RUNG or TUTORIAL …]",
      0,
      1000,
      {shape_option(), symbolic_option(), multiple_of_option(), rows_multiple_of_option(), dtype_option(),
       set_option(), table_option(), device_option(), arch_option()},
      "Without a RUNG, it runs the first tutorial, ladder. A refused or failed rung has a row, and the run "
      "continues. The exit code is that of the most serious failure.\n\n"
      "Columns:\n"
      "  error/bound  the largest error of an element over its bound, which running error analysis gives\n"
      "  exact        whether results on small integers are bit-exact; `check` makes more exact runs\n"
      "  sectors      32-byte sectors per global load request\n"
      "  conflicts    shared-memory bank conflicts\n"
      "  FLOP/B       useful FLOPs per requested byte\n"
      "  limit        the resource with the largest minimum time\n"
      "  regs         registers per thread\n"
      "  verdict      PASSED; FAILED; REFUSED; or UNKNOWN: no run compared every element of an output, so that "
      "nothing is known of the others. UNKNOWN has the exit code of FAILED\n"
      "Columns that do not fit are omitted. `nestsmith explain RUNG` prints more.\n\n"
      "Rows are printed as they finish. --json prints one object per line: one object per rung, which has the "
      "key \"rung\"; the last object has the key \"passed\".\n\n"
      "examples:\n"
      "  nestsmith run\n"
      "  nestsmith run deep_dive/naive deep_dive/coalesced --shape 640x480x320\n"
      "  COLUMNS=120 nestsmith run\n",
      run_rungs};
}

} // namespace nestsmith::cli
