#include "tools/tune/common_points.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace nestsmith::cli {

namespace {

constexpr std::size_t of_each_shape = 4;
using Points = std::vector<KnobValues>;

void add(Points &points, const KnobValues &knobs) {
  if (std::ranges::find(points, knobs) == points.end())
    points.push_back(knobs);
}

/// `times` returns the time of each point at the shape of a search. None: it is not legal there.
std::vector<CommonPoint>
common_points(std::list<Tuning> &tunings, const Points &points,
              const std::function<std::vector<std::optional<double>>(Tuning &)> &times) {
  std::vector<double> sums(points.size()), worst(points.size(), 1);
  std::vector<bool> everywhere(points.size(), true);
  for (Tuning &tuning : tunings) {
    const std::vector<std::optional<double>> each = times(tuning);
    double best = std::numeric_limits<double>::infinity();
    for (const std::optional<double> &time : each)
      best = std::min(best, time.value_or(best));
    for (std::size_t n = 0; n < points.size(); ++n) {
      everywhere[n] = everywhere[n] && each[n];
      double speed = best / each[n].value_or(best);
      sums[n] += std::log(speed), worst[n] = std::min(worst[n], speed);
    }
  }
  std::vector<CommonPoint> list;
  for (std::size_t n = 0; n < points.size(); ++n)
    if (everywhere[n])
      list.push_back({points[n], std::exp(sums[n] / static_cast<double>(tunings.size())), worst[n]});
  std::ranges::stable_sort(list, std::greater<>{}, &CommonPoint::mean);
  return list;
}

} // namespace

std::vector<CommonPoint> common_points(std::list<Tuning> &tunings,
                                       const std::vector<std::vector<records::Record>> &found,
                                       TuneMeasurer &measurer, records::Database *database) {
  Points points;
  for (const std::vector<records::Record> &records : found)
    for (std::size_t n = 0; n < std::min(records.size(), of_each_shape); ++n)
      if (records[n].outcome == records::Outcome::measured)
        add(points, records[n].knobs);
  return common_points(tunings, points,
                       [&](Tuning &tuning) { return tuning.measure_legal(points, measurer, database); });
}

std::vector<CommonPoint> estimated_common_points(std::list<Tuning> &tunings) {
  Points points;
  for (const Tuning &tuning : tunings) {
    const std::vector<tune::Point> &ranked = tuning.space().points;
    for (std::size_t n = 0; n < std::min(ranked.size(), of_each_shape); ++n)
      add(points, ranked[n].knobs);
  }
  return common_points(tunings, points, [&](Tuning &tuning) { return tuning.predict(points); });
}

} // namespace nestsmith::cli
