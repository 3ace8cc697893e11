#include "tools/tune/common_points.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nestsmith::cli {

std::vector<CommonPoint> common_points(std::list<Tuning> &tunings,
                                       const std::vector<std::vector<records::Record>> &found,
                                       TuneMeasurer &measurer, records::Database *database) {
  constexpr std::size_t of_each_shape = 4;
  std::vector<KnobValues> points;
  for (const std::vector<records::Record> &records : found)
    for (std::size_t n = 0; n < std::min(records.size(), of_each_shape); ++n)
      if (records[n].outcome == records::Outcome::measured &&
          std::ranges::find(points, records[n].knobs) == points.end())
        points.push_back(records[n].knobs);
  std::vector<double> sums(points.size()), worst(points.size(), 1);
  std::vector<bool> everywhere(points.size(), true);
  for (Tuning &tuning : tunings) {
    std::vector<std::optional<double>> ms = tuning.measure_legal(points, measurer, database);
    double best = std::numeric_limits<double>::infinity();
    for (const std::optional<double> &time : ms)
      best = std::min(best, time.value_or(best));
    for (std::size_t n = 0; n < points.size(); ++n) {
      everywhere[n] = everywhere[n] && ms[n];
      double speed = best / ms[n].value_or(best);
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

} // namespace nestsmith::cli
