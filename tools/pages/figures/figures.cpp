#include "tools/pages/figures/figures.h"

#include "dsl/expr/error.h"
#include "tools/pages/figures/measure.h"
#include "tools/pages/published.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <map>

namespace nestsmith {

namespace {

/// If a ratio of times differs from 1 by at most this, it counts as no change.
constexpr double no_change = 0.05;

int direction(double ratio) { return std::fabs(ratio - 1) <= no_change ? 0 : ratio > 1 ? 1 : -1; }

bool near(double value, double wanted, double tolerance) {
  return std::fabs(value - wanted) <= tolerance * std::fabs(wanted) + 1e-12 * std::fabs(wanted);
}

/// The published time of a rung at an edge, in any unit; 0 if there is none.
double published_time(const PublishedTable &table, const std::string &rung, std::int64_t edge) {
  const PublishedRow *row = table.find(rung);
  if (!row)
    return 0;
  auto figure = std::ranges::find(row->figures, edge, &PublishedFigure::edge);
  if (figure == row->figures.end())
    return 0;
  return table.unit == "ms" ? figure->value : 1 / figure->value;
}

} // namespace

std::string_view name(FigureSource source) {
  switch (source) {
  case FigureSource::counted:
    return "counted";
  case FigureSource::data:
    return "GPU data";
  case FigureSource::occupancy:
    return "occupancy";
  case FigureSource::modelled:
    return "modelled";
  case FigureSource::predicted:
    return "predicted";
  }
  internal_error("unknown source of a figure");
}

std::string_view name(FigureVerdict verdict) {
  switch (verdict) {
  case FigureVerdict::reproduced:
    return "reproduced";
  case FigureVerdict::corrected:
    return "corrected";
  case FigureVerdict::agrees:
    return "agrees";
  case FigureVerdict::disagrees:
    return "disagrees";
  case FigureVerdict::wrong:
    return "wrong";
  }
  internal_error("unknown verdict");
}

FigureVerdict verdict(const Figure &figure) {
  if (figure.source == FigureSource::predicted)
    return direction(figure.ours) == direction(figure.published) ? FigureVerdict::agrees
                                                                 : FigureVerdict::disagrees;
  if (!near(figure.ours, figure.right, figure.tolerance))
    return FigureVerdict::wrong;
  return near(figure.published, figure.right, figure.tolerance) ? FigureVerdict::reproduced
                                                                : FigureVerdict::corrected;
}

namespace {

struct Post {
  const char *tutorial;
  std::vector<Figure> (*figures)();
};
constexpr Post posts[] = {{"deep_dive", figure::of_deep_dive},
                          {"transposed", figure::of_transposed},
                          {"tvm_steps", figure::of_tvm_steps},
                          {"principles", figure::of_principles}};

} // namespace

std::vector<std::string> tutorials_with_figures() {
  std::vector<std::string> names;
  for (const Post &post : posts)
    names.emplace_back(post.tutorial);
  return names;
}

std::vector<Figure> figures(const std::string &tutorial) {
  std::vector<Figure> all;
  for (const Post &post : posts)
    if (tutorial.empty() || tutorial == post.tutorial)
      std::ranges::move(post.figures(), std::back_inserter(all));
  return all;
}

std::vector<Figure> predictions(const std::string &tutorial) {
  struct Step {
    const char *tutorial, *gpu;
    std::int64_t edge;
    const char *before, *after, *note;
  };
  // The post of tiling does not name its GPU, and the worklog's A6000 is not a GPU that nestsmith lists.
  constexpr const char *latency = "the least time does not model latency, and fewer warps hide less of it";
  constexpr const char *merged =
      "the least time counts a global load once for each result that uses it; the compiler merges these loads";
  constexpr Step steps[] = {
      {"deep_dive", "RTX 5090", 1024, "naive", "coalesced", ""},
      {"deep_dive", "RTX 5090", 1024, "coalesced", "shared", ""},
      {"deep_dive", "RTX 5090", 1024, "shared", "tile1d", latency},
      {"tvm_steps", "RTX A500", 512, "step1", "step2", merged},
      {"tvm_steps", "RTX A500", 1024, "step1", "step2", merged},
      {"tvm_steps", "RTX A500", 512, "step2", "step3", merged},
      {"tvm_steps", "RTX A500", 1024, "step2", "step3", merged},
      {"tvm_steps", "RTX A500", 2048, "step2", "step3", merged},
      {"tvm_steps", "RTX A500", 512, "step3", "step4", latency},
      {"tvm_steps", "RTX A500", 1024, "step3", "step4", latency},
      {"tvm_steps", "RTX A500", 1024, "step4", "step5",
       "a pipeline hides latency, and the least time does not model latency"},
      {"tvm_steps", "RTX A500", 1024, "step5", "step6", ""},
  };
  std::map<std::string, double> seconds;
  std::vector<Figure> all;
  for (const Step &step : steps) {
    if (!tutorial.empty() && tutorial != step.tutorial)
      continue;
    const PublishedTable *table = published(step.tutorial);
    double before = published_time(*table, step.before, step.edge),
           after = published_time(*table, step.after, step.edge);
    internal_check(before > 0 && after > 0, "a prediction of what nobody published");
    auto least = [&](const char *rung) {
      std::string key = fmt::format("{}/{} {}", step.tutorial, rung, step.edge);
      if (!seconds.contains(key))
        seconds[key] = figure::analyse_rung(fmt::format("{}/{}", step.tutorial, rung),
                                            {step.edge, step.edge, step.edge}, find_gpu(step.gpu))
                           .seconds();
      return seconds[key];
    };
    double predicted = least(step.after) / least(step.before);
    all.push_back(
        {step.tutorial,
         fmt::format("{}: time of {} over that of {}, {}", step.gpu, step.after, step.before, step.edge),
         after / before, after / before, predicted, FigureSource::predicted, 0, step.note});
  }
  return all;
}

} // namespace nestsmith
