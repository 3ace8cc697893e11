#include "tools/pages/climb_rates.h"
#include "tools/pages/sections.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith::cli::report {

namespace {

/// The height of a bar; and with a second bar below it, which is the record.
constexpr int bar_height = 22, pair_height = 34;

/// A diamond that is `x` of the width from the left.
Html diamond(const std::string &x) {
  return element("svg", {{"x", x}, {"y", "11"}, {"class", "mark"}},
                 {element("path", {{"d", "M0 -6L6 0L0 6L-6 0Z"}, {"class", "published"}})});
}

Html vertical(const std::string &x, const std::string &css_class, int height = bar_height) {
  return element("line",
                 {{"x1", x}, {"x2", x}, {"y1", "0"}, {"y2", std::to_string(height)}, {"class", css_class}});
}

Html horizontal(const std::string &css_class, const std::string &width, int y, int height) {
  return element(
      "rect",
      {{"class", css_class}, {"width", width}, {"y", std::to_string(y)}, {"height", std::to_string(height)}});
}

std::string published_text(const PublishedTable &table, const PublishedRow &row) {
  std::string text;
  for (const PublishedFigure &figure : row.figures)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", rate_text(rate_of(table, figure)), figure.edge);
  return text;
}

/// The rates of a bar as text: that of the record first.
std::vector<std::string> values_of(const Page &page, const ClimbRates &rates, const MeasuredRecord *record,
                                   Language language) {
  std::vector<std::string> values;
  if (rates.recorded > 0)
    values.push_back(say(record->current ? Label::climb_measured : Label::recorded_older, language,
                         rate_text(rates.recorded)));
  if (rates.rate > 0)
    values.push_back(page.measured ? rate_text(rates.rate)
                                   : say(Label::at_most, language, rate_text(rates.rate)));
  if (rates.estimated > 0)
    values.push_back(say(Label::estimated, language, rate_text(rates.estimated)));
  return values.empty() ? std::vector<std::string>{"–"} : values;
}

/// The name of the library that a chart has beside a rung.
std::string library_of(const Page &page, const MeasuredRecord *record) {
  return record && record->record.peer_ms ? record->record.peer : page.cublas_name;
}

Html bar(const Page &page, const ClimbChart &chart, double scale, std::size_t n, const std::string &file,
         Language language) {
  const PageRung &rung = page.rungs[n];
  const MeasuredRecord *record = record_in(page, chart, rung);
  const ClimbRates rates = rates_in(page, chart, rung);
  auto width = [&](double rate) { return percent(rate / scale); };
  std::vector<std::string> values = values_of(page, rates, record, language);
  std::string title = fmt::format("{}: {}", rung.name, fmt::join(values, "; "));
  Html spans, bars, marks;
  for (const std::string &value : values) {
    spans += spans.empty() ? "" : " ";
    spans += element("span", {value});
  }
  const bool pair = rates.recorded > 0 && rates.rate > 0;
  const int height = pair ? pair_height : bar_height;
  bars += element("rect", {{"class", "track"}, {"width", "100%"}, {"y", "3"}, {"height", "16"}});
  if (chart.gpu.empty())
    bars += horizontal(page.measured ? "measured" : "modelled", width(rates.rate), 3, 16);
  if (rates.estimated > 0)
    bars += horizontal("estimated", width(rates.estimated), 6, 10);
  if (rates.recorded > 0)
    bars += pair ? horizontal("measured", width(rates.recorded), 22, 9)
                 : horizontal("measured", width(rates.recorded), 3, 16);
  if (rates.published > 0) {
    title += "; " + say(Label::published_mark, language, rate_text(rates.published));
    marks += diamond(width(rates.published));
  }
  if (rates.cublas > 0) {
    title += fmt::format("; {}: {}", library_of(page, record), rate_text(rates.cublas));
    marks += vertical(width(rates.cublas), "cublas", height);
  }
  if (rates.published_cublas > 0)
    marks += vertical(width(rates.published_cublas), "cublas published", height);
  return element(
      "li", {{"class", "bar"}},
      {element("a", {{"href", file + "#" + address(page, n)}}, {fmt::format("{}.\u00a0{}", n + 1, rung.name)}),
       " ", element("span", {{"class", "value"}}, {spans}),
       element("svg", {{"width", "100%"}, {"height", std::to_string(height)}, {"role", "img"}},
               {element("title", {title}), bars, marks})});
}

/// A sample of a mark, and its explanation.
Html legend_item(const Html &sample, const std::string &text) {
  return element("li", {element("svg", {{"width", "24"}, {"height", "22"}, {"aria-hidden", "true"}}, {sample}),
                        " ", text});
}

Html sample_bar(const std::string &css_class, int y, int height) {
  return element("rect", {{"class", css_class},
                          {"x", "1"},
                          {"width", "22"},
                          {"y", std::to_string(y)},
                          {"height", std::to_string(height)}});
}

/// "401 TFLOP/s – 412 TFLOP/s", or one rate; empty for no rate.
std::string range_text(double least, double most) {
  std::string low = rate_text(least), high = rate_text(most);
  return most == 0 ? "" : low == high ? low : fmt::format("{} – {}", low, high);
}

/// The least and the largest of some rates. 0 is no rate.
struct RateRange {
  double least = 0, most = 0;
  void add(double rate) {
    if (rate > 0)
      least = least == 0 ? rate : std::min(least, rate);
    most = std::max(most, rate);
  }
  std::string text() const { return range_text(least, most); }
};

/// The items of the library and of the records.
Html measured_items(const Page &page, Language language) {
  Html items;
  RateRange library;
  std::string name;
  std::vector<std::string> recorded;
  for (const ClimbChart &chart : climb_charts(page)) {
    for (std::size_t n : chart.rungs)
      if (double rate = rates_in(page, chart, page.rungs[n]).cublas; rate > 0) {
        library.add(rate);
        name = library_of(page, record_in(page, chart, page.rungs[n]));
      }
    std::string on = recorded_on(page, chart);
    if (!on.empty() && std::ranges::find(recorded, on) == recorded.end())
      recorded.push_back(on);
  }
  for (const std::string &on : recorded)
    items += legend_item(sample_bar("measured", 6, 9), say(Label::recorded_on, language, on));
  if (library.most > 0)
    items += legend_item(vertical("12", "cublas"), fmt::format("{}: {}", name, library.text()));
  return items;
}

/// The legend of all charts of the page.
Html legend(const Page &page, Language language) {
  Html items =
      legend_item(sample_bar(page.measured ? "measured" : "modelled", 3, 16), source_of_rates(page, language));
  const ClimbChart own;
  auto drawn = [&](double ClimbRates::*rate, const PublishedTable *table) {
    return std::ranges::any_of(page.rungs, [&](const PageRung &rung) {
      return (!table || published_of(page, rung) == table) && rates_in(page, own, rung).*rate > 0;
    });
  };
  if (drawn(&ClimbRates::estimated, nullptr))
    items += legend_item(sample_bar("estimated", 6, 10), std::string(say(Label::estimate, language)));
  items += measured_items(page, language);
  for (const PublishedTable *table : page.published) {
    if (drawn(&ClimbRates::published, table))
      items += legend_item(diamond("12"), say(Label::published_mark, language, table->source));
    if (drawn(&ClimbRates::published_cublas, table))
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

Html climb_bars(const Page &page, Language language, const std::string &file) {
  Html parts;
  for (const ClimbChart &chart : climb_charts(page)) {
    double most = 0;
    for (std::size_t n : chart.rungs)
      most = std::max(most, rates_in(page, chart, page.rungs[n]).most());
    Html bars;
    for (std::size_t n : chart.rungs)
      bars += bar(page, chart, most == 0 ? 1 : most, n, file, language);
    parts += element("h3", {chart.problem + (chart.gpu.empty() ? "" : ", " + chart.gpu)});
    if (std::string on = recorded_on(page, chart); !on.empty())
      parts +=
          element("p", {{"class", "quiet recorded"}},
                  {say(Label::recorded_by, language, on), " ", element("code", {recorded_by(page, chart)})});
    parts += element("ol", {{"class", "bars"}}, {bars});
  }
  return parts += legend(page, language);
}

std::string rates_text(const Page &page, Language language) {
  RateRange own, recorded;
  std::string on;
  for (const ClimbChart &chart : climb_charts(page))
    for (std::size_t n : chart.rungs) {
      const ClimbRates rates = rates_in(page, chart, page.rungs[n]);
      own.add(rates.rate);
      recorded.add(rates.recorded);
      if (rates.recorded > 0)
        on = recorded_on(page, chart);
    }
  if (recorded.most > 0)
    return fmt::format("{} ({})", recorded.text(), say(Label::recorded_on, language, on));
  return own.most == 0 ? "" : fmt::format("{} ({})", own.text(), source_of_rates(page, language));
}

Html climb_section(const Page &page, Language language) {
  Html parts = climb_bars(page, language);
  for (const PublishedTable *table : page.published)
    parts += published_figures(page, *table, language);
  return section("climb", std::string(say(Label::climb, language)), {parts});
}

} // namespace nestsmith::cli::report
