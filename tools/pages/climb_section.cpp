#include "dsl/ir/workload_info.h"
#include "runtime/model/explain.h"
#include "tools/pages/sections.h"
#include "tools/pages/source_machine.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace nestsmith::cli::report {

namespace {

/// A published figure as a rate in FLOP/s.
double rate_of(const PublishedTable &table, const PublishedFigure &figure) {
  double edge = static_cast<double>(figure.edge);
  return table.unit == "ms" ? 2 * edge * edge * edge / (figure.value * 1e-3) : figure.value * 1e9;
}

/// The published table of a rung, if the figures are rates of a product.
const PublishedTable *published_of(const Page &page, const PageRung &rung) {
  for (const PublishedTable *table : page.published)
    if (rung.published &&
        std::ranges::any_of(table->rows, [&](const PublishedRow &row) { return &row == rung.published; }))
      return table;
  return nullptr;
}

/// The measured rate of cuBLAS for the product of a rung, in FLOP/s; 0: not known. Rungs of one problem can
/// have different rates, because a transposed operand is another product.
double cublas_rate(const PageRung &rung) {
  return rung.climbed.cublas_ms ? rung.climbed.operations / (*rung.climbed.cublas_ms * 1e-3) : 0;
}

/// Rungs of one problem, with the marks of their chart.
struct Panel {
  std::string problem;
  std::vector<std::size_t> rungs;
  double most = 0; ///< end of the scale, in FLOP/s
};

/// Whether the rates of the page are those of the GPU on which the source measured.
bool on_gpu_of(const Page &page, const PublishedTable &table) {
  const SourceMachine *source = source_machine(table.tutorial);
  return source && source->gpu == page.gpu.gpu.name && (!page.measured || page.same_gpu);
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

/// The published rates of a rung and of its source's cuBLAS on the axis of the chart; 0: none.
struct Published {
  double rung = 0, cublas = 0;
};
Published published_on_axis(const Page &page, const PageRung &rung) {
  const PublishedTable *table = published_of(page, rung);
  if (!table)
    return {};
  const PublishedRow *cublas = table->find("");
  return {on_axis(page, rung, *table, *rung.published), cublas ? on_axis(page, rung, *table, *cublas) : 0};
}

std::vector<Panel> panels_of(const Page &page) {
  std::vector<Panel> panels;
  for (std::size_t n = 0; n < page.rungs.size(); ++n) {
    const PageRung &rung = page.rungs[n];
    std::string problem = problem_of(page, rung);
    if (panels.empty() || panels.back().problem != problem)
      panels.push_back({problem, {}});
    Panel &panel = panels.back();
    panel.rungs.push_back(n);
    panel.most = std::max({panel.most, rate_of(page, rung), cublas_rate(rung)});
    Published published = published_on_axis(page, rung);
    panel.most = std::max({panel.most, published.rung, published.cublas});
  }
  return panels;
}

/// A diamond that is `x` of the width from the left.
Html diamond(const std::string &x) {
  return element("svg", {{"x", x}, {"y", "11"}, {"class", "mark"}},
                 {element("path", {{"d", "M0 -6L6 0L0 6L-6 0Z"}, {"class", "published"}})});
}

Html vertical(const std::string &x, const std::string &css_class) {
  return element("line", {{"x1", x}, {"x2", x}, {"y1", "0"}, {"y2", "22"}, {"class", css_class}});
}

std::string published_text(const PublishedTable &table, const PublishedRow &row) {
  std::string text;
  for (const PublishedFigure &figure : row.figures)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", rate_text(rate_of(table, figure)), figure.edge);
  return text;
}

/// The rate at the estimated time of the model, with latency, barriers and waves; 0 without compiled code.
double estimated_rate(const Page &page, const PageRung &rung) {
  if (page.measured || rate_of(page, rung) == 0)
    return 0;
  const PlanAnalysis &analysis = rung.model->analysis;
  return analysis.slowest().compiled
             ? operation_count(rung.model->scheduled.source()) / analysis.estimated_seconds()
             : 0;
}

Html bar(const Page &page, const Panel &panel, std::size_t n, Language language) {
  const PageRung &rung = page.rungs[n];
  double rate = rate_of(page, rung), scale = panel.most == 0 ? 1 : panel.most;
  std::string value = rate == 0       ? std::string("–")
                      : page.measured ? rate_text(rate)
                                      : say(Label::at_most, language, rate_text(rate));
  std::string title = rung.name + ": " + value;
  Html marks, estimate, values = element("span", {value});
  if (double estimated = estimated_rate(page, rung); estimated > 0) {
    std::string said = say(Label::estimated, language, rate_text(estimated));
    title += "; " + said;
    values += " ";
    values += element("span", {said});
    estimate = element(
        "rect", {{"class", "estimated"}, {"width", percent(estimated / scale)}, {"y", "6"}, {"height", "10"}});
  }
  Published published = published_on_axis(page, rung);
  if (published.rung > 0) {
    title += "; " + say(Label::published_mark, language, rate_text(published.rung));
    marks += diamond(percent(published.rung / scale));
  }
  Html lines;
  if (double cublas = cublas_rate(rung); cublas > 0) {
    title += fmt::format("; {}: {}", page.cublas_name, rate_text(cublas));
    lines += vertical(percent(cublas / scale), "cublas");
  }
  if (published.cublas > 0)
    lines += vertical(percent(published.cublas / scale), "cublas published");
  return element(
      "li", {{"class", "bar"}},
      {element("a", {{"href", "#" + address(page, n)}}, {fmt::format("{}.\u00a0{}", n + 1, rung.name)}), " ",
       element("span", {{"class", "value"}}, {values}),
       element("svg", {{"width", "100%"}, {"height", "22"}, {"role", "img"}},
               {element("title", {title}),
                element("rect", {{"class", "track"}, {"width", "100%"}, {"y", "3"}, {"height", "16"}}),
                element("rect", {{"class", page.measured ? "measured" : "modelled"},
                                 {"width", percent(rate / scale)},
                                 {"y", "3"},
                                 {"height", "16"}}),
                estimate, lines, marks})});
}

/// A sample of a mark, and its explanation.
Html legend_item(const Html &sample, const std::string &text) {
  return element("li", {element("svg", {{"width", "24"}, {"height", "22"}, {"aria-hidden", "true"}}, {sample}),
                        " ", text});
}

/// "401 TFLOP/s – 412 TFLOP/s", or one rate; empty if cuBLAS was not measured.
std::string cublas_rates(const Page &page) {
  double least = 0, most = 0;
  for (const PageRung &rung : page.rungs)
    if (double rate = cublas_rate(rung); rate > 0) {
      least = least == 0 ? rate : std::min(least, rate);
      most = std::max(most, rate);
    }
  std::string low = rate_text(least), high = rate_text(most);
  return most == 0 ? "" : low == high ? low : fmt::format("{} – {}", low, high);
}

/// The legend of all charts of the page.
Html legend(const Page &page, Language language) {
  Html items = legend_item(element("rect", {{"class", page.measured ? "measured" : "modelled"},
                                            {"x", "1"},
                                            {"width", "22"},
                                            {"y", "3"},
                                            {"height", "16"}}),
                           source_of_rates(page, language));
  if (std::ranges::any_of(page.rungs, [&](const PageRung &rung) { return estimated_rate(page, rung) > 0; }))
    items += legend_item(
        element("rect", {{"class", "estimated"}, {"x", "1"}, {"width", "22"}, {"y", "6"}, {"height", "10"}}),
        std::string(say(Label::estimate, language)));
  if (std::string rates = cublas_rates(page); !rates.empty())
    items += legend_item(vertical("12", "cublas"), fmt::format("{}: {}", page.cublas_name, rates));
  for (const PublishedTable *table : page.published) {
    auto drawn = [&](double Published::*mark) {
      return std::ranges::any_of(page.rungs, [&](const PageRung &rung) {
        return published_of(page, rung) == table && published_on_axis(page, rung).*mark > 0;
      });
    };
    if (drawn(&Published::rung))
      items += legend_item(diamond("12"), say(Label::published_mark, language, table->source));
    if (drawn(&Published::cublas))
      items += legend_item(vertical("12", "cublas published"),
                           say(Label::published_cublas, language, published_text(*table, *table->find(""))));
  }
  return element("ul", {{"class", "legend"}}, {items});
}

/// All figures that a source published, with its GPU. Most of them are for another shape or another GPU.
Html published_figures(const Page &page, const PublishedTable &table, Language language) {
  Html rows;
  auto row = [&](const Html &name, const PublishedRow &figures) {
    rows += element(
        "tr", {element("th", {{"scope", "row"}}, {name}), element("td", {published_text(table, figures)})});
  };
  for (const PageRung &rung : page.rungs)
    if (published_of(page, rung) == &table)
      row(with_breaks(rung.name), *rung.published);
  if (const PublishedRow *cublas = table.find(""))
    row("cuBLAS", *cublas);
  std::string caption =
      say(on_gpu_of(page, table) ? Label::published_all : Label::published_apart, language, table.source);
  return element(
      "details",
      {element("summary", {caption}),
       element("div", {{"class", "wide"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", caption}},
               {element("table", {{"class", "published"}}, {element("tbody", {rows})})})});
}

} // namespace

double rate_at_least_time(const PageRung &rung) {
  return rung.model ? operation_count(rung.model->scheduled.source()) / rung.model->analysis.seconds() : 0;
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

Html climb_section(const Page &page, Language language) {
  Html panels;
  for (const Panel &panel : panels_of(page)) {
    Html bars;
    for (std::size_t n : panel.rungs)
      bars += bar(page, panel, n, language);
    panels += element("h3", {panel.problem});
    panels += element("ol", {{"class", "bars"}}, {bars});
  }
  panels += legend(page, language);
  for (const PublishedTable *table : page.published)
    panels += published_figures(page, *table, language);
  return section("climb", std::string(say(Label::climb, language)), {panels});
}

} // namespace nestsmith::cli::report
