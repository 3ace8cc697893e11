#include "dsl/error.h"
#include "runtime/explain.h"
#include "schedules/published.h"
#include "tools/climb.h"
#include "tools/command.h"
#include "tools/json.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace nestsmith::cli {

namespace {

/// "-" stands for what does not apply.
std::string error_cell(const Climbed &row, const Style &style) {
  const RunResult *random = row.check.find(CheckRun::random);
  auto exact = row.check.exact();
  std::string text = random ? fmt::format("{:.3f}", random->max_error_over_bound) : "-";
  return text + (!exact ? "" : *exact ? ", exact" : ", " + style.red("wrong"));
}

/// What a GPU would do: sectors of a load of global memory, bank conflicts, FLOP/byte as requests ask,
/// occupancy, limiter.
std::vector<Table::Column> analysis_columns() {
  return {{"sectors", Align::right},
          {"conflicts", Align::right},
          {"FLOP/B", Align::right},
          {"occup.", Align::right},
          {"limiter"}};
}

std::vector<std::string> analysis_cells(const Climbed &row) {
  if (!row.analysis)
    return {"-", "-", "-", "-", "-"};
  const PlanAnalysis &it = *row.analysis;
  auto conflicts =
      static_cast<double>(it.total(Scope::shared, false).conflicts + it.total(Scope::shared, true).conflicts);
  return {number_text(it.total(Scope::global, false).sectors_per_request()), count_text(conflicts),
          number_text(it.asked_intensity()), percent_text(it.slowest().occupancy.ratio()),
          std::string(name(it.limiter()))};
}

std::string verdict_cell(const Climbed &row, const Style &style) {
  if (!row.error.empty())
    return style.red(row.code == ExitCode::illegal_schedule ? "REFUSED" : "FAILED");
  return row.check.passed ? style.green("PASSED") : style.red("FAILED");
}

std::string percent_cell(const Climbed &row) {
  return row.cublas_ms ? fmt::format("{:.1f} %", 100 * *row.cublas_ms / row.timing->median_ms) : "-";
}

/// Of each kernel, in the order of their launches.
std::string registers_cell(const Climbed &row) {
  std::string text;
  for (const cuda::Compiled &kernel : row.compiled)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", kernel.registers);
  return text.empty() ? "n/a" : text;
}

bool one_problem(const std::vector<Climbed> &rows) {
  return std::ranges::all_of(
      rows, [&](const Climbed &r) { return r.shape == rows[0].shape && r.dtype == rows[0].dtype; });
}

/// The published table of a row's tutorial, where the rung is one of ours, or null.
const PublishedTable *published_table(const Context &context, const Climbed &row) {
  bool ours = context.rungs.data() == builtin_rungs().data();
  auto slash = row.name.find('/');
  return ours && slash != std::string::npos ? published(row.name.substr(0, slash)) : nullptr;
}

const PublishedRow *published_row(const Context &context, const Climbed &row) {
  const PublishedTable *table = published_table(context, row);
  return table ? table->find(row.name.substr(row.name.find('/') + 1)) : nullptr;
}

std::string published_cell(const Context &context, const Climbed &row) {
  const PublishedRow *figures = published_row(context, row);
  return figures ? fmt::format("{} {}", to_string(*figures), published_table(context, row)->unit) : "-";
}

/// Whose the published figures are, a line for each tutorial.
std::string published_notes(const Context &context, const std::vector<Climbed> &rows, bool simulated) {
  std::vector<const PublishedTable *> tables;
  for (const Climbed &row : rows)
    if (published_row(context, row) && std::ranges::count(tables, published_table(context, row)) == 0)
      tables.push_back(published_table(context, row));
  std::string text;
  for (const PublishedTable *table : tables) {
    const PublishedRow *cublas = table->find("");
    text += fmt::format("\npublished for {}: {}; in brackets M = N = K{}\n", table->tutorial, table->source,
                        cublas ? fmt::format(", cuBLAS {} {}", to_string(*cublas), table->unit) : "");
    for (const Climbed &row : rows)
      if (simulated && published_row(context, row) && published_table(context, row) == table)
        text += fmt::format("  {}: {}\n", row.name, published_cell(context, row));
  }
  return text;
}

std::vector<Table::Column> columns_of(const std::vector<Climbed> &rows, bool simulated, bool any_published) {
  std::vector<Table::Column> columns = {{"rung"}};
  if (!one_problem(rows))
    columns.push_back({"problem"});
  if (!simulated) {
    columns.push_back({"time", Align::right});
    columns.push_back({"GFLOP/s", Align::right});
    columns.push_back({"of cuBLAS", Align::right});
  }
  std::ranges::copy(analysis_columns(), std::back_inserter(columns));
  columns.push_back({"error/bound", Align::right});
  columns.push_back({"regs", Align::right});
  columns.push_back({"shared", Align::right});
  if (any_published)
    columns.push_back({"published"});
  columns.push_back({"verdict"});
  return columns;
}

/// What was published stands in the table where there are times to compare it with, else below it.
std::string table_text(const std::vector<Climbed> &rows, bool simulated, const std::string &cublas_name,
                       const Context &context) {
  const Style &style = context.style;
  bool any_published = !simulated && std::ranges::any_of(rows, [&](const Climbed &row) {
    return published_row(context, row) != nullptr;
  });
  std::vector<Table::Column> columns = columns_of(rows, simulated, any_published);
  Table table(columns);
  for (const Climbed &row : rows) {
    bool ran = row.error.empty();
    std::string form = row.variant ? fmt::format(" ({})", row.variant->name) : "";
    std::vector<std::string> cells = {style.bold(row.name) + form};
    if (!one_problem(rows))
      cells.push_back(fmt::format("{} {}", name(row.dtype), to_text(row.shape)));
    if (!simulated) {
      cells.push_back(row.timing ? fmt::format("{:.4g} ms", row.timing->median_ms) : "-");
      cells.push_back(row.timing ? fmt::format("{:.0f}", row.gflops()) : "-");
      cells.push_back(percent_cell(row));
    }
    std::ranges::move(analysis_cells(row), std::back_inserter(cells));
    cells.push_back(error_cell(row, style));
    cells.push_back(registers_cell(row));
    cells.push_back(ran ? fmt::format("{} B", row.shared_bytes) : "-");
    if (any_published)
      cells.push_back(published_cell(context, row));
    cells.push_back(verdict_cell(row, style));
    table.add(cells);
  }
  auto compared = std::ranges::find_if(rows, [](const Climbed &row) { return row.cublas_ms.has_value(); });
  if (compared != rows.end() && one_problem(rows)) {
    double ms = *compared->cublas_ms;
    std::vector<std::string> cells = {style.dim(cublas_name), fmt::format("{:.4g} ms", ms),
                                      fmt::format("{:.0f}", compared->operations / ms * 1e-6), "100.0 %"};
    cells.resize(columns.size());
    table.add(cells);
  }
  return table.text(style);
}

/// Why a row's rung took another form than its usual one, a line each.
std::string variant_notes(const std::vector<Climbed> &rows) {
  std::string text;
  for (const Climbed &row : rows)
    if (row.variant)
      text += fmt::format("{}{} takes its {} form: {}\n", text.empty() ? "\n" : "", row.name, row.variant->name,
                          row.variant->why);
  return text;
}

/// What went wrong in a row, indented below its name.
std::string failure_text(const Climbed &row, const Style &style) {
  std::string text;
  for (const std::string &message : row.check.messages())
    text += "  " + message + "\n";
  if (!row.error.empty())
    text += "  " + row.error + "\n" + row.error_details;
  return text.empty() ? "" : "\n" + style.red(row.name) + "\n" + text;
}

void write_published(llvm::json::OStream &json, const PublishedTable &table, const PublishedRow &row) {
  json.attributeObject("published", [&] {
    json.attribute("source", table.source);
    json.attribute("unit", table.unit);
    for (const PublishedFigure &figure : row.figures)
      json.attribute(std::to_string(figure.edge), figure.value);
  });
}

void write_figures(llvm::json::OStream &json, const PlanAnalysis &it) {
  json.attribute("gpu", it.gpu.name);
  json.attribute("sectors_per_request", it.total(Scope::global, false).sectors_per_request());
  json.attribute("bank_conflicts", static_cast<std::int64_t>(it.total(Scope::shared, false).conflicts +
                                                             it.total(Scope::shared, true).conflicts));
  json.attribute("flop_per_byte_asked", json_number(it.asked_intensity()));
  json.attribute("occupancy", it.slowest().occupancy.ratio());
  json.attribute("limiter", std::string(name(it.limiter())));
  json.attribute("least_ms", 1e3 * it.seconds());
}

void write_row(llvm::json::OStream &json, const Context &context, const Climbed &row) {
  json.attribute("rung", row.name);
  json.attribute("shape", llvm::json::Array(row.shape));
  json.attribute("dtype", name(row.dtype).data());
  if (row.variant) {
    json.attribute("variant", row.variant->name);
    json.attribute("variant_because", row.variant->why);
  }
  if (row.timing) {
    json.attribute("time_ms", row.timing->median_ms);
    json.attribute("min_ms", row.timing->min_ms);
    json.attribute("max_ms", row.timing->max_ms);
    json.attribute("runs", row.timing->runs);
    json.attribute("cold_l2", row.timing->cold_l2);
    json.attribute("gflops", row.gflops());
  }
  if (row.cublas_ms) {
    json.attribute("cublas_ms", *row.cublas_ms);
    json.attribute("percent_of_cublas", 100 * *row.cublas_ms / row.timing->median_ms);
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
    json.attribute("arch", row.compiled[0].arch);
    json.attribute("kernels", static_cast<std::int64_t>(row.compiled.size()));
    json.attribute("registers", registers); // the most that a kernel takes
    json.attribute("spill_bytes", spills);
  }
  json.attribute("shared_bytes", row.shared_bytes);
  if (row.analysis)
    write_figures(json, *row.analysis);
  if (const PublishedRow *figures = published_row(context, row))
    write_published(json, *published_table(context, row), *figures);
  json.attribute("verdict", !row.error.empty() && row.code == ExitCode::illegal_schedule ? "REFUSED"
                            : row.code == ExitCode::good                                 ? "PASSED"
                                                                                         : "FAILED");
  json.attributeArray("messages", [&] {
    for (const std::string &message : row.check.messages())
      json.value(message);
    if (!row.error.empty())
      json.value(row.error);
  });
}

std::string climb_json(const std::vector<Climbed> &rows, const Machine &machine, const Climb &climb,
                       const Context &context, const std::vector<std::string> &notes) {
  return json_text([&](llvm::json::OStream &json) {
    json.object([&] {
      json.attribute("device", std::string(machine.executor->name()));
      json.attribute("simulated", machine.simulated());
      if (!climb.cublas_name().empty())
        json.attribute("cublas", climb.cublas_name());
      json.attributeArray("rungs", [&] {
        for (const Climbed &row : rows)
          json.object([&] { write_row(json, context, row); });
      });
      json.attribute("notes", llvm::json::Array(notes));
      json.attribute("passed",
                     std::ranges::all_of(rows, [](const Climbed &r) { return r.code == ExitCode::good; }));
    });
  });
}

std::string heading(const std::vector<Climbed> &rows, const Machine &machine, const Style &style) {
  std::string problem =
      one_problem(rows) ? fmt::format("{} {}", name(rows[0].dtype), to_text(rows[0].shape)) : "";
  std::string where = machine.simulated() ? "on the simulator" : fmt::format("on {}", machine.executor->name());
  auto analysed = std::ranges::find_if(rows, [](const Climbed &row) { return row.analysis.has_value(); });
  if (machine.simulated() && analysed != rows.end())
    where +=
        fmt::format(", as {} would run it ({})", analysed->analysis->gpu.name, analysed->analysis->gpu.arch);
  return style.bold(problem) + (problem.empty() ? "" : " ") + where + "\n\n";
}

ExitCode run(const Context &context) {
  std::vector<Choice> choices = choose_rungs(context.rungs, context.arguments.positional());
  if (choices.empty())
    throw UserError(ExitCode::usage, "there is no rung to climb; name a trace file");
  std::string spared = spare_other_ranks(context, choices);
  for (const Choice &choice : choices) // every mistake in the words before the first result
    chosen_shape(context, choice);
  Machine machine = choose_machine(context);
  Climb climb(context, machine);
  Progress progress;
  std::vector<Climbed> rows;
  for (const Choice &choice : choices) {
    progress.show(fmt::format("{} ({} of {}) …", choice.name, rows.size() + 1, choices.size()));
    rows.push_back(climb.run(choice));
  }
  progress.clear();
  std::vector<std::string> notes = climb.notes();
  if (!spared.empty())
    notes.push_back(spared);
  if (context.json()) {
    out(climb_json(rows, machine, climb, context, notes));
  } else {
    const Style &style = context.style;
    std::string text = heading(rows, machine, style);
    text += table_text(rows, machine.simulated(), climb.cublas_name(), context);
    for (const Climbed &row : rows)
      text += failure_text(row, style);
    text += style.dim(variant_notes(rows));
    text += style.dim(published_notes(context, rows, machine.simulated()));
    for (const std::string &note : notes)
      text += "\n" + style.dim(note) + "\n";
    out(text);
  }
  // The most serious of them: a wrong result before a schedule that was refused.
  for (ExitCode code : {ExitCode::wrong_result, ExitCode::illegal_schedule, ExitCode::no_device})
    if (std::ranges::find(rows, code, &Climbed::code) != rows.end())
      return code;
  return ExitCode::good;
}

} // namespace

Command run_command() {
  return {
      "run",
      "climb: run and check each rung, and print a table",
      "[RUNG or TUTORIAL …]",
      0,
      1000,
      {shape_option(), symbolic_option(), multiple_of_option(), dtype_option(), device_option()},
      "Without a RUNG: the first tutorial, which is the ladder. error/bound: the largest error of an "
      "element against its bound\n"
      "gamma_(K+3) * (|alpha| |A| |B| + |beta| |C|); exact: small integers, bit for bit.\n"
      "sectors: 32 bytes each, of a request that loads global memory; conflicts: of banks of shared memory;\n"
      "FLOP/B: needed operations over the bytes that requests ask for. `nestsmith explain RUNG` says more.\n\n"
      "examples:\n  nestsmith run\n  nestsmith run deep_dive/naive deep_dive/coalesced --shape 640x480x320\n",
      run};
}

} // namespace nestsmith::cli
