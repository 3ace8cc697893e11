#include "tools/pages/figures/figures.h"

#include "dsl/expr/error.h"
#include "tools/pages/figures/causes.h"
#include "tools/pages/figures/measure.h"
#include "tools/results/published.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

namespace nestsmith {

namespace {

/// If a ratio of times differs from 1 by at most this, it counts as no change.
constexpr double no_change = 0.05;

int direction(double ratio) { return std::fabs(ratio - 1) <= no_change ? 0 : ratio > 1 ? 1 : -1; }

bool near(double value, double wanted, double tolerance) {
  return std::fabs(value - wanted) <= tolerance * std::fabs(wanted) + 1e-12 * std::fabs(wanted);
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
  case FigureSource::estimated:
    return "estimated";
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
  case FigureVerdict::beside:
    return "beside";
  case FigureVerdict::wrong:
    return "wrong";
  }
  internal_error("unknown verdict");
}

FigureVerdict verdict(const Figure &figure) {
  if (figure.source == FigureSource::estimated)
    return FigureVerdict::beside;
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
                          {"tiling", figure::of_tiling},
                          {"tvm_steps", figure::of_tvm_steps},
                          {"principles", figure::of_principles}};

} // namespace

std::vector<std::string> tutorials_with_figures() {
  std::vector<std::string> names;
  for (const Post &post : posts)
    names.emplace_back(post.tutorial);
  for (const PublishedTable &table : published_tables())
    if (std::ranges::find(names, table.tutorial) == names.end())
      names.push_back(table.tutorial);
  return names;
}

std::vector<Figure> figures(const std::string &tutorial) {
  std::vector<Figure> all;
  for (const Post &post : posts)
    if (tutorial.empty() || tutorial == post.tutorial)
      std::ranges::move(post.figures(), std::back_inserter(all));
  return all;
}

namespace {

/// A rung with a published time at one shape.
struct Timed {
  std::string name; ///< without the tutorial
  double seconds;   ///< published
  PlanAnalysis analysis;
};

double seconds_of(const PublishedTable &table, const PublishedFigure &figure) {
  double operations = 2 * std::pow(static_cast<double>(figure.edge), 3);
  return table.unit == "ms" ? figure.value * 1e-3 : operations / (figure.value * 1e9);
}

/// The published rungs of a table at one shape, in their order. Kernels without a rung are left out.
std::vector<Timed> timed(const PublishedTable &table, std::int64_t edge, const Gpu &gpu) {
  std::vector<Timed> all;
  for (const PublishedRow &row : table.rows) {
    std::string rung = table.tutorial + "/" + row.rung;
    auto figure = std::ranges::find(row.figures, edge, &PublishedFigure::edge);
    if (figure == row.figures.end() ||
        std::ranges::find(builtin_rungs(), rung, &Rung::full_name) == builtin_rungs().end())
      continue;
    DType dtype = table.tutorial == "tensor" ? DType::bf16 : DType::f32;
    all.push_back({row.rung, seconds_of(table, *figure),
                   figure::analyse_rung(rung, {edge, edge, edge}, gpu, 1'000'000, dtype)});
  }
  return all;
}

/// The ratio of the times of two neighbouring rungs.
Figure step_of(const PublishedTable &table, std::int64_t edge, const Timed &before, const Timed &after) {
  double published = after.seconds / before.seconds;
  double ours = after.analysis.estimated_seconds() / before.analysis.estimated_seconds();
  bool agrees = direction(published) == direction(ours);
  return {table.tutorial,
          fmt::format("{}: time of {} over that of {}, {}", table.gpu, after.name, before.name, edge),
          published,
          published,
          ours,
          FigureSource::predicted,
          0,
          figure::cause({before.name, before.seconds, before.analysis},
                        {after.name, after.seconds, after.analysis}, agrees)};
}

/// The rate of a kernel that uses the technique of the rung.
Figure beside(const PublishedTable &table, std::int64_t edge, const Timed &rung) {
  double tera = 2e-12 * std::pow(static_cast<double>(edge), 3);
  double published = tera / rung.seconds;
  return {table.tutorial,
          fmt::format("{}: TFLOP/s of {} in bf16, {}", table.gpu, rung.name, edge),
          published,
          published,
          tera / rung.analysis.estimated_seconds(),
          FigureSource::estimated,
          0,
          "another author's kernel by this technique"};
}

std::vector<std::int64_t> edges_of(const PublishedTable &table) {
  std::vector<std::int64_t> edges;
  for (const PublishedRow &row : table.rows)
    for (const PublishedFigure &figure : row.figures)
      if (std::ranges::find(edges, figure.edge) == edges.end())
        edges.push_back(figure.edge);
  std::ranges::sort(edges);
  return edges;
}

/// The GPU of a table; null if it is not named or not listed.
const Gpu *gpu_of(const PublishedTable &table) {
  auto found = std::ranges::find(gpus(), table.gpu, &Gpu::name);
  return found == gpus().end() ? nullptr : &*found;
}

} // namespace

std::vector<Figure> predictions(const std::string &tutorial) {
  std::vector<Figure> all;
  for (const PublishedTable &table : published_tables()) {
    const Gpu *gpu = gpu_of(table);
    if (!gpu || (!tutorial.empty() && tutorial != table.tutorial))
      continue;
    for (std::int64_t edge : edges_of(table)) {
      std::vector<Timed> rungs = timed(table, edge, *gpu);
      for (std::size_t n = 0; n < rungs.size(); ++n)
        if (!table.same_kernels)
          all.push_back(beside(table, edge, rungs[n]));
        else if (n > 0)
          all.push_back(step_of(table, edge, rungs[n - 1], rungs[n]));
    }
  }
  return all;
}

} // namespace nestsmith
