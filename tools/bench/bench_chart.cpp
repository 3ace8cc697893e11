#include "tools/bench/bench_chart.h"

#include "tools/bench/bench_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace nestsmith::cli {

namespace {

constexpr double left = 56, plot_width = 520, plot_height = 260, label_width = 250, top = 62, gap = 96;
constexpr double line_height = 15;
constexpr const char *ink = "#7d7d7d"; // text and axes
/// Of middle brightness, for a white and for a black background.
constexpr std::array palette = {"#3b82c4", "#d9722e", "#3f9b5b", "#c4485c", "#8f6bc9",
                                "#a8862a", "#2b9aa0", "#c2569f", "#7a8b2f", "#6d7fa8"};

std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text)
    result += c == '&'   ? "&amp;"
              : c == '<' ? "&lt;"
              : c == '>' ? "&gt;"
              : c == '"' ? "&quot;"
                         : std::string(1, c);
  return result;
}

std::string text_at(double x, double y, const std::string &text, const std::string &attributes = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y,
                     attributes.empty() ? "" : " " + attributes, escaped(text));
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
std::string panel(const std::vector<BenchShape> &shapes, const BenchSetting &setting, std::size_t number,
                  double y0) {
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

  std::string svg = text_at(left, y0 - 14, "TFLOP/s, " + to_text(setting), "font-weight=\"bold\"");
  for (double value = 0; value <= high * 1.0001; value += step) {
    svg += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\" stroke=\"{3}\" "
                       "stroke-opacity=\"{4}\"/>\n",
                       left, y_of(value), left + plot_width, ink, value == 0 ? "1" : "0.3");
    svg += text_at(left - 8, y_of(value) + 4, fmt::format("{:.6g}", value), "text-anchor=\"end\"");
  }
  for (std::size_t n = 0; n < shapes.size(); ++n)
    svg += text_at(x_of(n), y1 + 18, short_text(shapes[n].shape), "text-anchor=\"middle\"");

  std::vector<Label> labels;
  for (std::size_t s = 0; s < all.size(); ++s) {
    const char *colour = palette[s % palette.size()];
    std::string points, marks;
    for (std::size_t n = 0; n < shapes.size(); ++n)
      if (all[s].values[n]) {
        double x = x_of(n), y = y_of(*all[s].values[n]);
        points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", x, y);
        marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x, y, colour);
      }
    svg += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n{}", points,
                       colour, all[s].peer ? " stroke-dasharray=\"6 4\"" : "", marks);
    labels.push_back({y_of(*all[s].last()), s});
  }
  spread_out(labels, std::max(y1, y0 + line_height * static_cast<double>(labels.size())));
  for (const Label &label : labels) {
    const char *colour = palette[label.series % palette.size()];
    double x = left + plot_width + 12;
    svg += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\" stroke=\"{3}\" "
                       "stroke-width=\"2\"{4}/>\n",
                       x, label.y, x + 18, colour, all[label.series].peer ? " stroke-dasharray=\"6 4\"" : "");
    svg += text_at(x + 24, label.y + 4, all[label.series].name, fmt::format("fill=\"{}\"", colour));
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
  std::string svg = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
                                "width=\"{0:.0f}\" height=\"{1:.0f}\" "
                                "font-family=\"sans-serif\" font-size=\"12\" fill=\"{2}\">\n",
                                width, height, ink);
  std::string dtype = shapes.empty() ? "" : shapes.front().dtype + " ";
  svg += text_at(left, 22, dtype + subtitle, "font-size=\"14\" font-weight=\"bold\"");
  for (std::size_t n = 0; n < settings.size(); ++n)
    svg += panel(shapes, settings[n], n, top + each * static_cast<double>(n));
  return svg + "</svg>\n";
}

} // namespace nestsmith::cli
