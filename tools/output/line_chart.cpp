#include "tools/output/line_chart.h"

#include "tools/output/html.h"

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

std::optional<double> last_value(const ChartLine &line) {
  for (auto value = line.values.rbegin(); value != line.values.rend(); ++value)
    if (*value)
      return *value;
  return std::nullopt;
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
  std::size_t line;
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
Html panel_at(const ChartPanel &panel, double y0) {
  const std::vector<ChartLine> &all = panel.lines;
  double most = 0;
  for (const ChartLine &line : all)
    for (const std::optional<double> &value : line.values)
      most = std::max(most, value.value_or(0));
  if (most == 0)
    return text_at(left, y0, panel.without_values);
  double step = step_for(most), high = step * std::ceil(most / step);
  double y1 = y0 + plot_height;
  auto x_of = [&](std::size_t n) {
    return panel.places.size() == 1
               ? left + plot_width / 2
               : left + plot_width * (0.03 + 0.94 * static_cast<double>(n) /
                                                 static_cast<double>(panel.places.size() - 1));
  };
  auto y_of = [&](double value) { return y1 - plot_height * value / high; };

  Html svg = text_at(left, y0 - 14, panel.title, {{"font-weight", "bold"}});
  for (double value = 0; value <= high * 1.0001; value += step) {
    svg +=
        horizontal(left, left + plot_width, y_of(value), ink, {{"stroke-opacity", value == 0 ? "1" : "0.3"}});
    svg += text_at(left - 8, y_of(value) + 4, fmt::format("{:.6g}", value), {{"text-anchor", "end"}});
  }
  for (std::size_t n = 0; n < panel.places.size(); ++n)
    svg += text_at(x_of(n), y1 + 18, panel.places[n], {{"text-anchor", "middle"}});
  if (!panel.axis.empty())
    svg += text_at(left + plot_width / 2, y1 + 38, panel.axis, {{"text-anchor", "middle"}});

  auto stroke = [&](std::size_t line) {
    std::vector<Attribute> attributes = {{"stroke-width", "2"}};
    if (all[line].dashed)
      attributes.push_back({"stroke-dasharray", "6 4"});
    return attributes;
  };
  std::vector<Label> labels;
  for (std::size_t s = 0; s < all.size(); ++s) {
    const char *colour = palette[s % palette.size()];
    std::string points;
    Html marks;
    for (std::size_t n = 0; n < panel.places.size(); ++n)
      if (all[s].values[n]) {
        std::string x = tenths(x_of(n)), y = tenths(y_of(*all[s].values[n]));
        points += fmt::format("{}{},{}", points.empty() ? "" : " ", x, y);
        marks += svg_element("circle", {{"cx", x}, {"cy", y}, {"r", "3"}, {"fill", colour}});
      }
    std::vector<Attribute> drawn = {{"points", points}, {"fill", "none"}, {"stroke", colour}};
    std::ranges::move(stroke(s), std::back_inserter(drawn));
    svg += svg_element("polyline", drawn);
    svg += marks;
    if (std::optional<double> last = last_value(all[s]))
      labels.push_back({y_of(*last), s});
  }
  spread_out(labels, std::max(y1, y0 + line_height * static_cast<double>(labels.size())));
  for (const Label &label : labels) {
    const char *colour = palette[label.line % palette.size()];
    double x = left + plot_width + 12;
    svg += horizontal(x, x + 18, label.y, colour, stroke(label.line));
    svg += text_at(x + 24, label.y + 4, all[label.line].name, {{"fill", colour}});
  }
  return svg;
}

} // namespace

std::string line_chart(const std::string &heading, const std::vector<ChartPanel> &panels) {
  double rows = 0; // labels below the plot if there are more than fit beside it
  for (const ChartPanel &panel : panels)
    rows = std::max(rows, static_cast<double>(panel.lines.size()));
  double each = std::max(plot_height, rows * line_height) + gap;
  double width = left + plot_width + label_width, height = top + 20 + each * static_cast<double>(panels.size());
  std::string right = fmt::format("{:.0f}", width), bottom = fmt::format("{:.0f}", height);
  Html body = "\n";
  body += text_at(left, 22, heading, {{"font-size", "14"}, {"font-weight", "bold"}});
  for (std::size_t n = 0; n < panels.size(); ++n)
    body += panel_at(panels[n], top + each * static_cast<double>(n));
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
