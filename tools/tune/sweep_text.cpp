#include "runtime/model/explain.h"
#include "tools/output/json.h"
#include "tools/output/line_chart.h"
#include "tools/output/table.h"
#include "tools/tune/sweep.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace nestsmith::cli {

namespace {

/// "tilesz=32, wid=64".
std::string name_of_values(const Sweep &sweep, const std::vector<std::string> &values) {
  std::string text;
  for (std::size_t n = 0; n < values.size(); ++n)
    text += fmt::format("{}{}={}", n > 0 ? ", " : "", sweep.knobs[n].name, values[n]);
  return text;
}

std::optional<double> least_seconds(const Sweep &sweep) {
  std::optional<double> least;
  for (const SweptPoint &point : sweep.points)
    if (point.seconds && (!least || *point.seconds < *least))
      least = point.seconds;
  return least;
}

std::string one_knob_table(const Sweep &sweep, const Style &style) {
  const Knob &knob = sweep.knobs.front();
  const SweptPoint *usual = sweep.usual();
  Table table({{knob.name, Align::right},
               {sweep.measured ? "measured" : "estimated", Align::right},
               {"time / default", Align::right},
               {""}});
  for (std::size_t n = 0; n < knob.candidates.size(); ++n) {
    const SweptPoint *point = sweep.find({knob.candidates[n]});
    if (!point)
      continue;
    std::string note = n == knob.chosen ? "default" : "";
    if (point->seconds && *point->seconds == *least_seconds(sweep))
      note += fmt::format("{}the least of these", note.empty() ? "" : ", ");
    if (!point->other.empty())
      note += fmt::format("{}with {}", note.empty() ? "" : ", ", point->other);
    bool both = point->seconds && usual && usual->seconds;
    table.add({knob.candidates[n], point->seconds ? seconds_text(*point->seconds) : "n/a",
               both ? fmt::format("{:.2f}", *point->seconds / *usual->seconds) : "n/a", note});
  }
  return table.text(style);
}

std::string two_knobs_table(const Sweep &sweep, const Style &style) {
  const Knob &rows = sweep.knobs[0], &columns = sweep.knobs[1];
  std::vector<Table::Column> titles = {{rows.name, Align::right}};
  for (const std::string &value : columns.candidates)
    titles.push_back({columns.name + "=" + value, Align::right});
  Table table(titles);
  for (const std::string &row : rows.candidates) {
    std::vector<std::string> cells = {row};
    for (const std::string &column : columns.candidates) {
      const SweptPoint *point = sweep.find({row, column});
      bool least = point && point->seconds && *point->seconds == *least_seconds(sweep);
      cells.push_back(!point            ? ""
                      : !point->seconds ? "n/a"
                                        : (least ? "* " : "") + seconds_text(*point->seconds));
    }
    table.add(cells);
  }
  std::string legend = "*: the least of these times. Empty: no candidate beside the other value";
  if (const SweptPoint *usual = sweep.usual())
    legend += ". The default is " + name_of_values(sweep, usual->values);
  return table.text(style) + "\n" + folded_lines(legend) + "\n";
}

/// The points that have a remark, by remark: "n/a at tilesz=32: …".
std::string by_remark(const Sweep &sweep, const char *before, std::string SweptPoint::*remark,
                      const char *between) {
  std::vector<std::pair<std::string, std::string>> groups; // in the order of the points
  for (const SweptPoint &point : sweep.points) {
    if ((point.*remark).empty())
      continue;
    auto known = std::ranges::find(groups, point.*remark, &std::pair<std::string, std::string>::first);
    std::string name = name_of_values(sweep, point.values);
    if (known == groups.end())
      groups.emplace_back(point.*remark, name);
    else
      known->second += "; " + name;
  }
  std::string text;
  for (const auto &[what, where] : groups)
    text += folded_lines(before + where + between + what) + "\n";
  return text;
}

} // namespace

std::string sweep_text(const Sweep &sweep, const Style &style) {
  bool two = sweep.knobs.size() == 2;
  std::string text = two ? two_knobs_table(sweep, style) : one_knob_table(sweep, style);
  std::string notes = two ? by_remark(sweep, "at ", &SweptPoint::other, ": with ") : "";
  notes += by_remark(sweep, "n/a at ", &SweptPoint::why, ": ");
  return text + (notes.empty() ? "" : "\n" + notes) + "\n" + style.dim(folded_lines(sweep.source)) + "\n";
}

std::string sweep_chart(const Sweep &sweep, const std::string &heading) {
  const Knob &first = sweep.knobs.front();
  double most = 0;
  for (const SweptPoint &point : sweep.points)
    most = std::max(most, point.seconds.value_or(0));
  double unit = most >= 1 ? 1 : most >= 1e-3 ? 1e-3 : 1e-6;
  std::string source = sweep.source.substr(0, sweep.source.find(':'));
  ChartPanel panel{.title = fmt::format("{}, {}",
                                        unit == 1      ? "s"
                                        : unit == 1e-3 ? "ms"
                                                       : "us",
                                        source),
                   .places = first.candidates,
                   .lines = {},
                   .axis = first.name,
                   .without_values = "no point has a time"};
  auto add_line = [&](const std::string &name, const std::vector<std::string> &more) {
    ChartLine line{name, {}};
    for (const std::string &value : first.candidates) {
      std::vector<std::string> values = {value};
      values.insert(values.end(), more.begin(), more.end());
      const SweptPoint *point = sweep.find(values);
      line.values.push_back(point && point->seconds ? std::optional(*point->seconds / unit) : std::nullopt);
    }
    panel.lines.push_back(std::move(line));
  };
  if (sweep.knobs.size() == 1)
    add_line(sweep.measured ? "measured" : "estimated", {});
  else
    for (const std::string &value : sweep.knobs[1].candidates)
      add_line(fmt::format("{}={}", sweep.knobs[1].name, value), {value});
  return line_chart(heading, {panel});
}

void write_sweep(llvm::json::OStream &json, const Sweep &sweep) {
  json.attributeArray("knobs", [&] {
    for (const Knob &knob : sweep.knobs)
      json.object([&] {
        json.attribute("name", knob.name);
        json.attribute("candidates", llvm::json::Array(knob.candidates));
        json.attribute("default", knob.candidates[knob.chosen]);
      });
  });
  json.attribute("measured", sweep.measured);
  json.attribute("source", sweep.source);
  json.attributeArray("points", [&] {
    for (const SweptPoint &point : sweep.points)
      json.object([&] {
        json.attribute("values", llvm::json::Array(point.values));
        json.attributeBegin("knobs");
        write_knobs(json, point.knobs);
        json.attributeEnd();
        json.attribute("seconds", point.seconds ? json_number(*point.seconds) : nullptr);
        if (!point.why.empty())
          json.attribute("why", point.why);
      });
  });
}

} // namespace nestsmith::cli
