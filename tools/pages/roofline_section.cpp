#include "runtime/model/explain.h"
#include "tools/pages/sections.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace nestsmith::cli::report {

namespace {

/// A rung on the roofline.
struct Point {
  std::size_t rung = 0;
  double dram = 0, asked = 0; ///< intensities in FLOP/byte
  double rate = 0;            ///< in FLOP/s
};

/// The limits of the GPU for the unit that computes the products of a rung.
struct Roof {
  double bandwidth = 0; ///< of DRAM, in bytes/s
  double peak = 0;      ///< in FLOP/s
  double ridge() const { return peak / bandwidth; }
};

/// The roofs of the rungs, each once.
std::vector<Roof> roofs_of(const Page &page, const std::vector<Point> &points) {
  constexpr double low = 1e-9, high = 1e9; // intensities where only one of both limits
  std::vector<Roof> roofs;
  for (const Point &point : points) {
    const PlanAnalysis &analysis = page.rungs[point.rung].model->analysis;
    Roof roof{analysis.attainable(low) / low, analysis.attainable(high)};
    if (std::ranges::find(roofs, roof.peak, &Roof::peak) == roofs.end())
      roofs.push_back(roof);
  }
  return roofs;
}

/// Both axes are logarithmic and begin and end at a power of ten. x is in percent of the width, y in pixels.
struct Axes {
  int x0 = 0, x1 = 0, y0 = 0, y1 = 0; ///< powers of ten

  static constexpr double left = 15, right = 97, top = 12, bottom = 292;

  double x(double intensity) const { return left + (right - left) * (std::log10(intensity) - x0) / (x1 - x0); }
  double y(double rate) const { return bottom - (bottom - top) * (std::log10(rate) - y0) / (y1 - y0); }
  std::string x_text(double intensity) const { return decimal(x(intensity)) + "%"; }
  std::string y_text(double rate) const { return decimal(y(rate)); }
};

Axes axes_of(const std::vector<Point> &points, const std::vector<Roof> &roofs) {
  double x_least = roofs.front().ridge(), x_most = x_least, y_least = roofs.front().peak, y_most = y_least;
  for (const Roof &roof : roofs) {
    x_most = std::max(x_most, roof.ridge());
    y_most = std::max(y_most, roof.peak);
  }
  for (const Point &point : points) {
    x_least = std::min(x_least, point.dram);
    x_most = std::max(x_most, point.dram);
    y_least = std::min(y_least, point.rate);
    y_most = std::max(y_most, point.rate);
  }
  auto below = [](double value) { return static_cast<int>(std::floor(std::log10(value) - 0.05)); };
  auto above = [](double value) { return static_cast<int>(std::ceil(std::log10(value) + 0.05)); };
  return {below(x_least), above(x_most), below(y_least), above(y_most)};
}

Html line(const std::string &x1, const std::string &y1, const std::string &x2, const std::string &y2,
          const std::string &css_class) {
  return element("line", {{"x1", x1}, {"y1", y1}, {"x2", x2}, {"y2", y2}, {"class", css_class}});
}

Html text(const std::string &x, double y, const std::string &anchor, const Html &content) {
  return element("text", {{"x", x}, {"y", decimal(y)}, {"text-anchor", anchor}}, {content});
}

Html grid(const Axes &axes) {
  Html result;
  for (int power = axes.x0; power <= axes.x1; ++power) {
    std::string x = axes.x_text(std::pow(10, power));
    result += line(x, decimal(Axes::top), x, decimal(Axes::bottom), "grid");
    result += text(x, Axes::bottom + 18, "middle", number_text(std::pow(10, power)));
  }
  for (int power = axes.y0; power <= axes.y1; ++power) {
    std::string y = axes.y_text(std::pow(10, power));
    result += line(decimal(Axes::left) + "%", y, decimal(Axes::right) + "%", y, "grid");
    result += text(decimal(Axes::left - 1) + "%", axes.y(std::pow(10, power)) + 4, "end",
                   rate_text(std::pow(10, power)).substr(0, rate_text(std::pow(10, power)).find("FLOP")));
  }
  return result;
}

/// The rate that the memory or the arithmetic of the GPU allows at each intensity.
Html drawn(const Axes &axes, const Roof &roof) {
  double least = std::pow(10, axes.y0), begin = std::max(std::pow(10, axes.x0), least / roof.bandwidth),
         end = std::pow(10, axes.x1);
  std::string ridge = axes.x_text(roof.ridge()), peak = axes.y_text(roof.peak);
  Html result = line(axes.x_text(begin), axes.y_text(begin * roof.bandwidth), ridge, peak, "roof");
  result += line(ridge, peak, axes.x_text(end), peak, "roof");
  return result += text(axes.x_text(end), axes.y(roof.peak) - 6, "end", rate_text(roof.peak));
}

/// Points whose marks would overlap have one mark.
struct Mark {
  double x, y; ///< in percent and pixels
  std::vector<std::size_t> rungs;

  /// "2,5–8"
  std::string label() const {
    std::string text;
    for (std::size_t n = 0, end = 0; n < rungs.size(); n = end) {
      for (end = n + 1; end < rungs.size() && rungs[end] == rungs[n] + (end - n);)
        ++end;
      text += fmt::format("{}{}", n == 0 ? "" : ",", rungs[n] + 1);
      if (end > n + 1)
        text += fmt::format("{}{}", end > n + 2 ? "–" : ",", rungs[end - 1] + 1);
    }
    return text;
  }
};

std::vector<Mark> marks_of(const std::vector<Point> &points, const Axes &axes) {
  std::vector<Mark> marks;
  for (const Point &point : points) {
    double x = axes.x(point.dram), y = axes.y(point.rate);
    auto near = std::ranges::find_if(
        marks, [&](const Mark &mark) { return std::fabs(mark.x - x) < 5 && std::fabs(mark.y - y) < 20; });
    if (near == marks.end())
      marks.push_back({x, y, {point.rung}});
    else
      near->rungs.push_back(point.rung);
  }
  return marks;
}

Html drawn(const Mark &mark) {
  std::string label = mark.label();
  double half = 5 + 4 * static_cast<double>(label.size());
  return element("svg", {{"x", decimal(mark.x) + "%"}, {"y", decimal(mark.y)}, {"class", "mark"}},
                 {element("rect", {{"class", "point"},
                                   {"x", decimal(-half)},
                                   {"y", "-9"},
                                   {"width", decimal(2 * half)},
                                   {"height", "18"},
                                   {"rx", "9"}}),
                  element("text", {{"class", "number"}, {"y", "4"}, {"text-anchor", "middle"}}, {label})});
}

Html drawn(const std::vector<Point> &points, const Axes &axes) {
  Html result;
  for (const Mark &mark : marks_of(points, axes))
    result += drawn(mark);
  return result;
}

/// A rate that was measured on another GPU cannot be compared with the roof of this one.
double rate_under_roof(const Page &page, const PageRung &rung) {
  return page.measured && !page.same_gpu && rate_of(page, rung) > 0 ? rate_at_least_time(rung)
                                                                    : rate_of(page, rung);
}

std::vector<Point> points_of(const Page &page) {
  std::vector<Point> points;
  for (std::size_t n = 0; n < page.rungs.size(); ++n)
    if (const PageRung &rung = page.rungs[n]; rung.model) {
      const PlanAnalysis &analysis = rung.model->analysis;
      Point point{n, analysis.dram_intensity(), analysis.asked_intensity(), rate_under_roof(page, rung)};
      if (std::isfinite(point.dram) && std::isfinite(point.asked) && point.dram > 0 && point.asked > 0 &&
          point.rate > 0)
        points.push_back(point);
    }
  return points;
}

Html points_table(const Html &rows, Language language) {
  auto title = [&](Label label) { return element("th", {{"scope", "col"}}, {say(label, language)}); };
  return element(
      "div", {{"class", "wide"}},
      {element("table", {{"class", "points"}},
               {element("thead", {element("tr", {element("td", {}), title(Label::rung), title(Label::at_dram),
                                                 title(Label::at_requests), title(Label::rate)})}),
                element("tbody", {rows})})});
}

} // namespace

Html roofline_section(const Page &page, Language language) {
  std::vector<Point> points = points_of(page);
  if (points.empty())
    return {};
  std::vector<Roof> roofs = roofs_of(page, points);
  Axes axes = axes_of(points, roofs);
  std::string title = fmt::format("{}: {}, {}/s", say(Label::roofline, language), page.gpu.gpu.product,
                                  bytes_text(roofs.front().bandwidth));
  Html legend, description, limits;
  for (const Roof &roof : roofs)
    limits += drawn(axes, roof);
  for (const Point &point : points) {
    std::string rate =
        page.same_gpu ? rate_text(point.rate) : say(Label::at_most, language, rate_text(point.rate));
    std::string said = fmt::format("{}: {} {}, {} {}, {}", page.rungs[point.rung].name, number_text(point.dram),
                                   say(Label::at_dram, language), number_text(point.asked),
                                   say(Label::at_requests, language), rate);
    legend += element("tr", {element("td", {element("b", {fmt::format("{}", point.rung + 1)})}),
                             element("th", {{"scope", "row"}}, {with_breaks(page.rungs[point.rung].name)}),
                             element("td", {number_text(point.dram)}),
                             element("td", {number_text(point.asked)}), element("td", {rate})});
    description += said + ". ";
  }
  Html drawing =
      element("svg",
              {{"width", "100%"},
               {"height", "340"},
               {"role", "img"},
               {"aria-labelledby", "roofline-title roofline-text"}},
              {element("title", {{"id", "roofline-title"}}, {title}),
               element("desc", {{"id", "roofline-text"}}, {description}), grid(axes), limits,
               text("56%", Axes::bottom + 38, "middle", std::string(say(Label::intensity, language))),
               drawn(points, axes)});
  return section("roofline", title,
                 {element("p", {say(Label::roofline_text, language)}),
                  element("div", {{"class", "roofline"}}, {drawing, points_table(legend, language)})});
}

} // namespace nestsmith::cli::report
