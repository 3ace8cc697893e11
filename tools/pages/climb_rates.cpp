#include "tools/pages/climb_rates.h"

#include "dsl/ir/workload_info.h"
#include "runtime/model/explain.h"
#include "tools/pages/sections.h"
#include "tools/pages/source_machine.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace nestsmith::cli::report {

namespace {

double operations_of(const PageRung &rung) { return operation_count(rung.model->scheduled.source()); }

double recorded_rate(const PageRung &rung, const records::Record &record) {
  return operations_of(rung) / (record.median_ms * 1e-3);
}

/// The rate at the estimated time of the model, with latency, barriers and waves; 0 without compiled code.
double estimated_rate(const Page &page, const PageRung &rung) {
  if (page.measured || rate_of(page, rung) == 0)
    return 0;
  const PlanAnalysis &analysis = rung.model->analysis;
  return analysis.slowest().compiled ? operations_of(rung) / analysis.estimated_seconds() : 0;
}

/// The published rate of a row for the GPU and the shape of the chart, so that both share an axis; 0: none.
double on_axis(const Page &page, const PageRung &rung, const PublishedTable &table, const PublishedRow &row) {
  const Scheduled *shown = rung.shown();
  const Shape &shape = shown ? shown->shape : rung.planned.shape;
  if (on_gpu_of(page, table))
    for (const PublishedFigure &figure : row.figures)
      if (shape == Shape(3, figure.edge))
        return rate_of(table, figure);
  return 0;
}

/// The products of other GPUs that have records of rungs of the page.
std::set<std::string> other_gpus(const Page &page) {
  std::set<std::string> gpus;
  auto has_own = [](const PageRung &rung) { return rung.model && rung.model->measured.here; };
  if (page.measured || std::ranges::any_of(page.rungs, has_own))
    return gpus;
  for (const PageRung &rung : page.rungs)
    if (rung.model)
      for (const MeasuredRecord &measured : rung.model->measured.elsewhere)
        gpus.insert(measured.record.gpu);
  return gpus;
}

void add_to_charts(std::vector<ClimbChart> &charts, const std::string &problem, const std::string &gpu,
                   std::size_t rung) {
  if (charts.empty() || charts.back().problem != problem || charts.back().gpu != gpu)
    charts.push_back({problem, gpu, {}});
  charts.back().rungs.push_back(rung);
}

} // namespace

double ClimbRates::most() const {
  return std::max({rate, estimated, recorded, cublas, published, published_cublas});
}

double rate_of(const PublishedTable &table, const PublishedFigure &figure) {
  double edge = static_cast<double>(figure.edge);
  return table.unit == "ms" ? 2 * edge * edge * edge / (figure.value * 1e-3) : figure.value * 1e9;
}

const PublishedTable *published_of(const Page &page, const PageRung &rung) {
  for (const PublishedTable *table : page.published)
    if (rung.published &&
        std::ranges::any_of(table->rows, [&](const PublishedRow &row) { return &row == rung.published; }))
      return table;
  return nullptr;
}

bool on_gpu_of(const Page &page, const PublishedTable &table) {
  const SourceMachine *source = source_machine(table.tutorial);
  return source && source->gpu == page.gpu.gpu.name && (!page.measured || page.same_gpu);
}

std::vector<ClimbChart> climb_charts(const Page &page) {
  std::vector<ClimbChart> charts;
  for (std::size_t n = 0; n < page.rungs.size(); ++n)
    add_to_charts(charts, problem_of(page, page.rungs[n]), "", n);
  for (const std::string &gpu : other_gpus(page))
    for (std::size_t n = 0; n < page.rungs.size(); ++n)
      if (record_in(page, {"", gpu, {}}, page.rungs[n]))
        add_to_charts(charts, problem_of(page, page.rungs[n]), gpu, n);
  return charts;
}

const MeasuredRecord *record_in(const Page &page, const ClimbChart &chart, const PageRung &rung) {
  if (page.measured || !rung.model || rung.climbed.code == ExitCode::wrong_result)
    return nullptr;
  const MeasuredTimes &times = rung.model->measured;
  if (chart.gpu.empty())
    return times.here ? &*times.here : nullptr;
  auto other = std::ranges::find_if(
      times.elsewhere, [&](const MeasuredRecord &measured) { return measured.record.gpu == chart.gpu; });
  return other == times.elsewhere.end() ? nullptr : &*other;
}

ClimbRates rates_in(const Page &page, const ClimbChart &chart, const PageRung &rung) {
  ClimbRates rates;
  if (chart.gpu.empty()) {
    rates.rate = rate_of(page, rung);
    rates.estimated = estimated_rate(page, rung);
    if (rung.climbed.cublas_ms)
      rates.cublas = rung.climbed.operations / (*rung.climbed.cublas_ms * 1e-3);
    if (const PublishedTable *table = published_of(page, rung)) {
      rates.published = on_axis(page, rung, *table, *rung.published);
      if (const PublishedRow *cublas = table->find(""))
        rates.published_cublas = on_axis(page, rung, *table, *cublas);
    }
  }
  if (const MeasuredRecord *measured = record_in(page, chart, rung)) {
    rates.recorded = recorded_rate(rung, measured->record);
    if (measured->record.peer_ms)
      rates.cublas = operations_of(rung) / (*measured->record.peer_ms * 1e-3);
  }
  return rates;
}

std::string recorded_on(const Page &page, const ClimbChart &chart) {
  std::set<std::string> days;
  std::string gpu;
  for (std::size_t n : chart.rungs)
    if (const MeasuredRecord *measured = record_in(page, chart, page.rungs[n])) {
      gpu = measured->record.gpu;
      if (std::string day = measured_on(measured->record); !day.empty())
        days.insert(day);
    }
  return days.empty()       ? gpu
         : days.size() == 1 ? fmt::format("{}, {}", gpu, *days.begin())
                            : fmt::format("{}, {} – {}", gpu, *days.begin(), *days.rbegin());
}

std::string recorded_by(const Page &page, const ClimbChart &chart) {
  const records::Record *one = nullptr;
  std::string rungs;
  for (std::size_t n : chart.rungs)
    if (const MeasuredRecord *measured = record_in(page, chart, page.rungs[n])) {
      one = &measured->record;
      rungs += (rungs.empty() ? "" : " ") + one->rung;
    }
  if (!one)
    return "";
  if (page.tutorial && !page.tutorial->name.empty() && chart.rungs.size() == page.rungs.size())
    rungs = page.tutorial->name;
  return fmt::format("nestsmith bench {} --shapes {} --dtype {} --record FILE", rungs, one->shape, one->dtype);
}

double rate_at_least_time(const PageRung &rung) {
  return rung.model ? operations_of(rung) / rung.model->analysis.seconds() : 0;
}

double rate_of(const Page &page, const PageRung &rung) {
  if (rung.climbed.code == ExitCode::wrong_result)
    return 0;
  return page.measured ? rung.climbed.gflops() * 1e9 : rate_at_least_time(rung);
}

std::string source_of_rates(const Page &page, Language language) {
  return page.measured ? say(Label::climb_measured, language, page.where)
                       : say(Label::climb_modelled, language, page.gpu.gpu.product);
}

std::string rate_text(double flops) {
  return flops >= 0.9995e12 ? number_text(flops * 1e-12) + " TFLOP/s" : number_text(flops * 1e-9) + " GFLOP/s";
}

std::string problem_of(const Page &page, const PageRung &rung) {
  const Scheduled *scheduled = page.measured ? nullptr : rung.shown();
  return scheduled ? dtype_name(scheduled->source(), scheduled->dtype) + " " + to_text(scheduled->shape)
                   : rung.planned.problem();
}

} // namespace nestsmith::cli::report
