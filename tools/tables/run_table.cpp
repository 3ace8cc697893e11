#include "tools/tables/run_table.h"

#include "dsl/expr/error.h"
#include "runtime/model/explain.h"
#include "tools/output/table.h"

#include <algorithm>
#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

using Figure = RunTable::Figure;

/// A column in its wide and its narrow form.
struct FigureForm {
  Figure figure;
  const char *title;
  std::size_t width;
  const char *short_title;
  std::size_t short_width;
  Align align = Align::right;
};

constexpr FigureForm forms[] = {
    {Figure::rung, "rung", 4, "rung", 4, Align::left},
    {Figure::problem, "problem", 7, "problem", 7, Align::left},
    {Figure::time, "time", 10, "ms", 7},
    {Figure::gflops, "GFLOP/s", 7, "GFLOP/s", 7},
    {Figure::cublas, "of cuBLAS", 9, "% cuBLAS", 8},
    {Figure::sectors, "sectors", 7, "sect.", 5},
    {Figure::conflicts, "conflicts", 9, "confl.", 6},
    {Figure::intensity, "FLOP/B", 6, "FLOP/B", 6},
    {Figure::occupancy, "occup.", 6, "occup.", 6},
    {Figure::limiter, "limiter", 13, "limit", 6, Align::left},
    {Figure::error, "error/bound", 12, "error", 5},
    {Figure::registers, "regs", 4, "regs", 4},
    {Figure::shared, "shared", 8, "shared", 8},
    {Figure::published, "published", 9, "published", 9, Align::left},
    {Figure::verdict, "verdict", 7, "verdict", 7, Align::left},
};

/// Columns to omit, in this order. The problem is then printed above the rows.
constexpr Figure spare[] = {Figure::published, Figure::problem, Figure::shared,    Figure::registers,
                            Figure::occupancy, Figure::sectors, Figure::intensity, Figure::conflicts,
                            Figure::limiter,   Figure::error,   Figure::cublas,    Figure::time,
                            Figure::gflops};

/// A narrow table shows the end of longer names, which are paths of traces.
constexpr std::size_t most_of_a_name = 28;

std::string end_of(const std::string &name) {
  if (display_width(name) <= most_of_a_name)
    return name;
  std::size_t begin = name.size();
  while (display_width(name.substr(begin)) + 1 < most_of_a_name)
    --begin;
  return "…" + name.substr(begin);
}

std::size_t widest(const std::vector<std::string> &texts, std::size_t least) {
  for (const std::string &text : texts)
    least = std::max(least, display_width(text));
  return least;
}

std::string short_name(Resource resource) {
  switch (resource) {
  case Resource::shared:
    return "shared";
  case Resource::fp32:
    return "FP32";
  case Resource::fp64:
    return "FP64";
  case Resource::matrix:
    return "matrix";
  case Resource::issue:
    return "issue";
  default:
    return std::string(name(resource));
  }
}

/// The maximum over the kernels of the rung.
std::string registers_cell(const Climbed &row) {
  std::int64_t most = 0;
  for (const cuda::Compiled &kernel : row.compiled)
    most = std::max<std::int64_t>(most, kernel.registers);
  return row.compiled.empty() ? "n/a" : std::to_string(most);
}

std::string verdict_cell(const Climbed &row, const Style &style) {
  std::string said = verdict(row);
  return said == "PASSED" ? style.green(said) : style.red(said);
}

} // namespace

std::string verdict(const Climbed &row) {
  if (row.code == ExitCode::good)
    return "PASSED";
  if (row.failure.code == ExitCode::good && row.check.outcome() == CheckOutcome::not_compared)
    return "UNKNOWN";
  bool refused = row.code == ExitCode::illegal_schedule || row.code == ExitCode::usage;
  return refused ? "REFUSED" : "FAILED";
}

RunTable::RunTable(RunTableFacts facts, std::size_t width, const Style &style)
    : facts_(std::move(facts)), style_(style), table_({}) {
  choose(width);
}

Table RunTable::table_of(const std::vector<Figure> &figures) const {
  std::vector<Table::Column> columns;
  for (Figure figure : figures) {
    const FigureForm &form = *std::ranges::find(forms, figure, &FigureForm::figure);
    std::size_t width = narrow_ ? form.short_width : form.width;
    width = figure == Figure::rung      ? std::min(widest(facts_.names, width), narrow_ ? most_of_a_name : 1000)
            : figure == Figure::problem ? widest(facts_.problems, width)
            : figure == Figure::published ? widest(facts_.published, width)
                                          : width;
    columns.push_back({narrow_ ? form.short_title : form.title, form.align, width});
  }
  return Table(columns);
}

void RunTable::choose(std::size_t width) {
  bool one_problem =
      std::ranges::count(facts_.problems, facts_.problems.front()) == std::ssize(facts_.problems);
  bool any_published =
      std::ranges::any_of(facts_.published, [](const std::string &text) { return !text.empty(); });
  for (const FigureForm &form : forms) {
    bool timed = form.figure == Figure::time || form.figure == Figure::gflops || form.figure == Figure::cublas;
    bool absent = (timed && facts_.simulated) || (form.figure == Figure::problem && one_problem) ||
                  (form.figure == Figure::published && (facts_.simulated || !any_published));
    if (!absent)
      shown_.push_back(form.figure);
  }
  table_ = table_of(shown_);
  if (table_.width() <= width)
    return;
  narrow_ = true;
  for (Figure figure : spare) {
    table_ = table_of(shown_);
    if (table_.width() <= width)
      return;
    std::erase(shown_, figure);
  }
  table_ = table_of(shown_);
}

bool RunTable::shows(Figure figure) const { return std::ranges::find(shown_, figure) != shown_.end(); }

/// "-" if the figure does not apply.
std::string RunTable::error_cell(const Climbed &row) const {
  const RunResult *random = row.check.find(CheckRun::random);
  auto exact = row.check.exact();
  bool compared =
      random &&
      (random->outputs.empty() ||
       std::ranges::any_of(random->outputs, [](const ComparedOutput &output) { return output.compared > 0; }));
  if (random && !compared)
    random = nullptr;
  double ratio = random ? random->max_error_over_bound : 0;
  std::string text = random ? fmt::format("{:.{}f}", ratio, ratio < 10 ? 3 : 0) : "-";
  if (narrow_)
    return exact && !*exact ? style_.red("wrong") : !random && exact ? "exact" : text;
  return text + (!exact ? "" : *exact ? ", exact" : ", " + style_.red("wrong"));
}

std::string RunTable::cell(Figure figure, std::size_t n, const Climbed &row) const {
  const PlanAnalysis *analysis = row.analysis ? &*row.analysis : nullptr;
  auto conflicts = [&] {
    return static_cast<double>(analysis->total(Scope::shared, false).conflicts +
                               analysis->total(Scope::shared, true).conflicts);
  };
  switch (figure) {
  case Figure::rung:
    return narrow_ && display_width(facts_.names[n]) > most_of_a_name
               ? style_.bold(end_of(facts_.names[n]))
               : style_.bold(row.name) + facts_.names[n].substr(row.name.size());
  case Figure::problem:
    return facts_.problems[n];
  case Figure::time:
    return row.ms ? fmt::format("{:.4g}{}", row.ms->median, narrow_ ? "" : " ms") : "-";
  case Figure::gflops:
    return row.ms ? fmt::format("{:.0f}", row.gflops()) : "-";
  case Figure::cublas:
    return row.cublas_ms ? fmt::format("{:.1f}{}", 100 * *row.cublas_ms / row.ms->median, narrow_ ? "" : " %")
                         : "-";
  case Figure::sectors:
    return analysis ? number_text(analysis->total(Scope::global, false).sectors_per_request()) : "-";
  case Figure::conflicts:
    return analysis ? count_text(conflicts()) : "-";
  case Figure::intensity:
    return analysis ? number_text(analysis->asked_intensity()) : "-";
  case Figure::occupancy:
    return analysis ? percent_text(analysis->slowest().occupancy.ratio()) : "-";
  case Figure::limiter:
    return !analysis ? "-" : narrow_ ? short_name(analysis->limiter()) : std::string(name(analysis->limiter()));
  case Figure::error:
    return error_cell(row);
  case Figure::registers:
    return registers_cell(row);
  case Figure::shared:
    return row.failure.message.empty() ? fmt::format("{} B", row.shared_bytes) : "-";
  case Figure::published:
    return facts_.published[n].empty() ? "-" : facts_.published[n];
  case Figure::verdict:
    return verdict_cell(row, style_);
  }
  internal_error("a column of the closed set");
}

std::vector<std::string> RunTable::titles() const {
  std::vector<std::string> titles;
  for (Figure figure : shown_) {
    const FigureForm &form = *std::ranges::find(forms, figure, &FigureForm::figure);
    titles.emplace_back(narrow_ ? form.short_title : form.title);
  }
  return titles;
}

std::vector<std::string> RunTable::cells(std::size_t n, const Climbed &climbed) const {
  std::vector<std::string> cells;
  for (Figure figure : shown_)
    cells.push_back(cell(figure, n, climbed));
  return cells;
}

std::string RunTable::row(std::size_t n, const Climbed &climbed) const {
  // If the shape has no column and shapes differ, it is a heading above its rungs.
  bool several = std::ranges::count(facts_.problems, facts_.problems[0]) < std::ssize(facts_.problems);
  bool changed = n == 0 || facts_.problems[n] != facts_.problems[n - 1];
  bool above = several && changed && !shows(Figure::problem);
  return (above ? " " + style_.dim(facts_.problems[n]) + "\n" : "") + table_.row(cells(n, climbed), style_);
}

std::string RunTable::cublas_row(const std::string &name, const Climbed &compared) const {
  return table_.row(cublas_cells(name, compared), style_);
}

std::vector<std::string> RunTable::cublas_cells(const std::string &name, const Climbed &compared) const {
  double ms = *compared.cublas_ms;
  std::vector<std::string> cells;
  for (Figure figure : shown_)
    cells.push_back(figure == Figure::rung     ? style_.dim(name)
                    : figure == Figure::time   ? fmt::format("{:.4g}{}", ms, narrow_ ? "" : " ms")
                    : figure == Figure::gflops ? fmt::format("{:.0f}", compared.operations / ms * 1e-6)
                    : figure == Figure::cublas ? (narrow_ ? "100.0" : "100.0 %")
                                               : "");
  return cells;
}

} // namespace nestsmith::cli
