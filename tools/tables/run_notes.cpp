#include "tools/tables/run_notes.h"

#include "tools/options/scheduled.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

std::string published_cell(const Context &context, const std::string &rung) {
  const PublishedRow *figures = published_row(context, rung);
  return figures ? fmt::format("{} {}", to_string(*figures), published_table(context, rung)->unit) : "";
}

} // namespace

const PublishedTable *published_table(const Context &context, const std::string &rung) {
  bool ours = context.rungs.data() == builtin_rungs().data();
  auto slash = rung.find('/');
  return ours && slash != std::string::npos ? published(rung.substr(0, slash)) : nullptr;
}

const PublishedRow *published_row(const Context &context, const std::string &rung) {
  const PublishedTable *table = published_table(context, rung);
  return table ? table->find(rung.substr(rung.find('/') + 1)) : nullptr;
}

std::string published_notes(const Context &context, const std::vector<Climbed> &rows, bool in_table) {
  std::vector<const PublishedTable *> tables;
  for (const Climbed &row : rows)
    if (published_row(context, row.name) && std::ranges::count(tables, published_table(context, row.name)) == 0)
      tables.push_back(published_table(context, row.name));
  std::string text;
  for (const PublishedTable *table : tables) {
    const PublishedRow *cublas = table->find("");
    text += fmt::format("\npublished for {}: {}; M = N = K is in brackets{}\n", table->tutorial, table->source,
                        cublas ? fmt::format("; cuBLAS: {} {}", to_string(*cublas), table->unit) : "");
    for (const Climbed &row : rows)
      if (!in_table && published_row(context, row.name) && published_table(context, row.name) == table)
        text += fmt::format("  {}: {}\n", row.name, published_cell(context, row.name));
  }
  return text;
}

std::string variant_notes(const std::vector<Climbed> &rows) {
  std::string text;
  for (const Climbed &row : rows)
    if (row.variant)
      text += fmt::format("{}{} takes its {} form: {}\n", text.empty() ? "\n" : "", row.name, row.variant->name,
                          row.variant->why);
  return text;
}

std::string table_notes(const std::vector<Climbed> &rows) {
  std::string text;
  for (const Climbed &row : rows)
    if (row.use)
      text += fmt::format("{}{} {}: {}\n", text.empty() ? "\n" : "", row.name, to_text(*row.use),
                          to_string(row.knobs));
  return text;
}

std::string skipped_notes(const std::vector<Climbed> &rows) {
  std::string text;
  for (const Climbed &row : rows)
    for (const SkippedRun &run : by_reason(row.check.skipped))
      text +=
          fmt::format("{}{}: not checked: {}: {}\n", text.empty() ? "\n" : "", row.name, run.label, run.why);
  return text;
}

RunTableFacts facts_of(const Context &context, const std::vector<Planned> &planned, const Machine &machine) {
  RunTableFacts facts;
  facts.simulated = machine.simulated();
  for (const Planned &rung : planned) {
    std::string form = rung.scheduled ? form_text(*rung.scheduled) : "";
    facts.names.push_back(rung.choice.name + (form.empty() ? "" : fmt::format(" ({})", form)));
    facts.problems.push_back(rung.problem());
    facts.published.push_back(published_cell(context, rung.choice.name));
  }
  return facts;
}

std::string where_text(const Machine &machine, const Gpu *gpu) {
  std::string where = machine.simulated() ? "on the simulator" : fmt::format("on {}", machine.executor->name());
  return machine.simulated() && gpu
             ? where + fmt::format(", as {} would run it ({})", gpu->name, to_string(gpu->arch))
             : where;
}

ExitCode code_of(const std::vector<Climbed> &rows) {
  for (ExitCode code :
       {ExitCode::wrong_result, ExitCode::illegal_schedule, ExitCode::usage, ExitCode::no_device})
    if (std::ranges::find(rows, code, &Climbed::code) != rows.end())
      return code;
  return ExitCode::good;
}

} // namespace nestsmith::cli
