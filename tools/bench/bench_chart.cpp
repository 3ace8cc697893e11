#include "tools/bench/bench_chart.h"

#include "tools/pages/html.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

namespace nestsmith::cli {

namespace {

constexpr double left = 56, plot_width = 520, plot_height = 260, label_width = 250, top = 62, gap = 96;
constexpr double line_height = 15;
constexpr const char *ink = "#7d7d7d"; // text and axes
/// Of middle brightness, for a white and for a black background.
constexpr std::array palette = {"#3b82c4", "#d9722e", "#3f9b5b", "#c4485c", "#8f6bc9",
                                "#a8862a", "#2b9aa0", "#c2569f", "#7a8b2f", "#6d7fa8"};

using report::Attribute;
using report::Html;
using report::svg_element;

/// A length or a position.
std::string tenths(double value) { return fmt::format("{:.1f}", value); }

Html text_at(double x, double y, const std::string &text, const std::vector<Attribute> &more = {}) {
  std::vector<Attribute> attributes = {{"x", tenths(x)}, {"y", tenths(y)}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return svg_element("text", attributes, {text});
}

Html horizontal(double x1, double x2, double y, const std::string &colour, const std::vector<Attribute> &more) {
  std::vector<Attribute> attributes = {
      {"x1", tenths(x1)}, {"y1", tenths(y)}, {"x2", tenths(x2)}, {"y2", tenths(y)}, {"stroke", colour}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return svg_element("line", attributes);
}

/// A competitor: its values by shape, in TFLOP/s. A shape at which it was not measured has none.
struct Series {
  std::string name;
  bool peer = false;
  std::optional<std::size_t> computation;
  std::vector<std::optional<double>> values;
  std::optional<double> last() const {
    for (auto value = values.rbegin(); value != values.rend(); ++value)
      if (*value)
        return *value;
    return std::nullopt;
  }
};

std::vector<Series> series_of(const std::vector<BenchShape> &shapes, std::size_t setting) {
  std::vector<Series> all;
  for (std::size_t n = 0; n < shapes.size(); ++n)
    for (const BenchRow &row : shapes[n].rows) {
      if (row.times.empty())
        continue;
      auto known = std::ranges::find_if(all, [&](const Series &series) {
        return series.name == row.name && series.computation == row.computation;
      });
      if (known == all.end()) {
        Series series{row.name, row.peer, row.computation, {}};
        series.values.resize(shapes.size());
        known = all.insert(all.end(), std::move(series));
      }
      known->values[n] = row.tflops(setting);
    }
  return all;
}

/// The distance of the grid lines: 1, 2 or 5 times a power of ten, for at most six lines.
double step_for(double most) {
  double power = std::pow(10, std::floor(std::log10(most / 6)));
  for (double factor : {1.0, 2.0, 5.0})
    if (most / (factor * power) <= 6)
      return factor * power;
  return 10 * power;
}

struct Label {
  double y;
  std::size_t series;
};

/// Moves labels apart, and keeps them above `bottom`.
void spread_out(std::vector<Label> &labels, double bottom) {
  std::ranges::sort(labels, {}, &Label::y);
  for (std::size_t n = 1; n < labels.size(); ++n)
    labels[n].y = std::max(labels[n].y, labels[n - 1].y + line_height);
  for (std::size_t n = labels.size(); n-- > 0; bottom = labels[n].y - line_height)
    labels[n].y = std::min(labels[n].y, bottom);
}

/// One panel, whose plot begins at `y0`.
Html panel(const std::vector<BenchShape> &shapes, const BenchSetting &setting, std::size_t number, double y0) {
  std::vector<Series> all = series_of(shapes, number);
  double most = 0;
  for (const Series &series : all)
    for (const std::optional<double> &value : series.values)
      most = std::max(most, value.value_or(0));
  if (most == 0)
    return text_at(left, y0, to_text(setting) + ": nothing was measured");
  double step = step_for(most), high = step * std::ceil(most / step);
  double y1 = y0 + plot_height;
  auto x_of = [&](std::size_t n) {
    return shapes.size() == 1 ? left + plot_width / 2
                              : left + plot_width * (0.03 + 0.94 * static_cast<double>(n) /
                                                                static_cast<double>(shapes.size() - 1));
  };
  auto y_of = [&](double value) { return y1 - plot_height * value / high; };

  Html svg = text_at(left, y0 - 14, "TFLOP/s, " + to_text(setting), {{"font-weight", "bold"}});
  for (double value = 0; value <= high * 1.0001; value += step) {
    svg +=
        horizontal(left, left + plot_width, y_of(value), ink, {{"stroke-opacity", value == 0 ? "1" : "0.3"}});
    svg += text_at(left - 8, y_of(value) + 4, fmt::format("{:.6g}", value), {{"text-anchor", "end"}});
  }
  for (std::size_t n = 0; n < shapes.size(); ++n)
    svg += text_at(x_of(n), y1 + 18, short_text(shapes[n].shape), {{"text-anchor", "middle"}});

  auto stroke = [&](std::size_t series) {
    std::vector<Attribute> attributes = {{"stroke-width", "2"}};
    if (all[series].peer)
      attributes.push_back({"stroke-dasharray", "6 4"});
    return attributes;
  };
  std::vector<Label> labels;
  for (std::size_t s = 0; s < all.size(); ++s) {
    const char *colour = palette[s % palette.size()];
    std::string points;
    Html marks;
    for (std::size_t n = 0; n < shapes.size(); ++n)
      if (all[s].values[n]) {
        std::string x = tenths(x_of(n)), y = tenths(y_of(*all[s].values[n]));
        points += fmt::format("{}{},{}", points.empty() ? "" : " ", x, y);
        marks += svg_element("circle", {{"cx", x}, {"cy", y}, {"r", "3"}, {"fill", colour}});
      }
    std::vector<Attribute> line = {{"points", points}, {"fill", "none"}, {"stroke", colour}};
    std::ranges::move(stroke(s), std::back_inserter(line));
    svg += svg_element("polyline", line);
    svg += marks;
    labels.push_back({y_of(*all[s].last()), s});
  }
  spread_out(labels, std::max(y1, y0 + line_height * static_cast<double>(labels.size())));
  for (const Label &label : labels) {
    const char *colour = palette[label.series % palette.size()];
    double x = left + plot_width + 12;
    svg += horizontal(x, x + 18, label.y, colour, stroke(label.series));
    svg += text_at(x + 24, label.y + 4, all[label.series].name, {{"fill", colour}});
  }
  return svg;
}

} // namespace

std::string bench_chart(const std::vector<BenchShape> &shapes, const std::vector<BenchSetting> &settings,
                        const std::string &subtitle) {
  double rows = 0; // labels below the plot if there are more than fit beside it
  for (std::size_t n = 0; n < settings.size(); ++n)
    rows = std::max(rows, static_cast<double>(series_of(shapes, n).size()));
  double each = std::max(plot_height, rows * line_height) + gap;
  double width = left + plot_width + label_width,
         height = top + 20 + each * static_cast<double>(settings.size());
  std::string dtype = shapes.empty() ? "" : shapes.front().dtype + " ", right = fmt::format("{:.0f}", width),
              bottom = fmt::format("{:.0f}", height);
  Html body = "\n";
  body += text_at(left, 22, dtype + subtitle, {{"font-size", "14"}, {"font-weight", "bold"}});
  for (std::size_t n = 0; n < settings.size(); ++n)
    body += panel(shapes, settings[n], n, top + each * static_cast<double>(n));
  return svg_element("svg",
                     {{"xmlns", "http://www.w3.org/2000/svg"},
                      {"viewBox", fmt::format("0 0 {} {}", right, bottom)},
                      {"width", right},
                      {"height", bottom},
                      {"font-family", "sans-serif"},
                      {"font-size", "12"},
                      {"fill", ink}},
                     {body})
      .markup();
}

} // namespace nestsmith::cli
