#pragma once
/// The best point for several shapes: `tune --shapes`.

#include "tools/tune/tuning.h"

#include <list>
#include <vector>

namespace nestsmith::cli {

/// A point at all shapes of a search.
struct CommonPoint {
  KnobValues knobs;
  double mean = 0;  ///< of its speed relative to the best point of each shape: the geometric mean
  double worst = 1; ///< the least of these speeds
};

/// Measures the four best points of each shape at all shapes, in turns. The fastest one in the mean comes
/// first. A point that is not legal at all shapes is left out. `found` has the records of each search, the
/// fastest first. Stores each result in `database`, if it is not null.
std::vector<CommonPoint> common_points(std::list<Tuning> &tunings,
                                       const std::vector<std::vector<records::Record>> &found,
                                       TuneMeasurer &measurer, records::Database *database);
/// The same by the model: the estimated times of the four first points of each shape, in the order of
/// `Tuning::rank`.
std::vector<CommonPoint> estimated_common_points(std::list<Tuning> &tunings);

} // namespace nestsmith::cli
