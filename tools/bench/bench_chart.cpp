#include "tools/bench/bench_chart.h"

#include "tools/output/line_chart.h"

namespace nestsmith::cli {

namespace {

/// A line for each competitor: its TFLOP/s by shape. Competitors with one name and other computations differ.
std::vector<ChartLine> lines_of(const std::vector<BenchShape> &shapes, std::size_t setting) {
  std::vector<ChartLine> lines;
  std::vector<std::optional<std::size_t>> computations; // of the lines
  for (std::size_t n = 0; n < shapes.size(); ++n)
    for (const BenchRow &row : shapes[n].rows) {
      if (row.times.empty())
        continue;
      std::size_t at = 0;
      while (at < lines.size() && (lines[at].name != row.name || computations[at] != row.computation))
        ++at;
      if (at == lines.size()) {
        lines.push_back({row.name, {}, row.peer});
        lines[at].values.resize(shapes.size());
        computations.push_back(row.computation);
      }
      lines[at].values[n] = row.tflops(setting);
    }
  return lines;
}

} // namespace

std::string bench_chart(const std::vector<BenchShape> &shapes, const std::vector<BenchSetting> &settings,
                        const std::string &subtitle) {
  std::vector<std::string> places;
  for (const BenchShape &shape : shapes)
    places.push_back(short_text(shape.shape));
  std::vector<ChartPanel> panels;
  for (std::size_t n = 0; n < settings.size(); ++n)
    panels.push_back({.title = "TFLOP/s, " + to_text(settings[n]),
                      .places = places,
                      .lines = lines_of(shapes, n),
                      .without_values = to_text(settings[n]) + ": nothing was measured"});
  return line_chart((shapes.empty() ? "" : shapes.front().dtype + " ") + subtitle, panels);
}

} // namespace nestsmith::cli
