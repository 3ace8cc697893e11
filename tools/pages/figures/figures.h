#pragma once
/// Figures in the tutorials' posts, and nestsmith's figures for the same rungs: counted, modelled, or predicted
/// from the bounds. Nothing is fitted to the published values.

#include "runtime/model/analysis.h"
#include "schedules/rung.h"

#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// The source of one of our figures:
///   counted    exact count of the lowered kernel
///   data       data sheet of the GPU
///   occupancy  cuda_occupancy.h; in a build without it, from threads, blocks and shared memory
///   modelled   cache model
///   predicted  ratio of two lower bounds on the time; ignores latency
enum class FigureSource : std::uint8_t { counted, data, occupancy, modelled, predicted };
std::string_view name(FigureSource source);

struct Figure {
  std::string tutorial; ///< "deep_dive"
  std::string what;     ///< "shared: loads of global memory for a result, K = 1024"
  double published = 0; ///< value in the post
  double right = 0; ///< correct value: equal to `published`, or the corrected value if the post has an error
  double ours = 0;
  FigureSource source = FigureSource::counted;
  /// Allowed relative difference between `ours` and `right`; not 0 if the post rounds its value.
  double tolerance = 0;
  std::string note = {}; ///< description of the error of the post, or of the limits of the model
};

/// reproduced  ours equals the published value
/// corrected   ours is right and the published value is wrong
/// agrees      a prediction has the direction of the measurement: up, down, or neither (within 5 %)
/// disagrees   a prediction does not
/// wrong       ours differs from the correct value
enum class FigureVerdict : std::uint8_t { reproduced, corrected, agrees, disagrees, wrong };
std::string_view name(FigureVerdict verdict);
FigureVerdict verdict(const Figure &figure);

/// The figures of one tutorial, or of all in their order.
std::vector<Figure> figures(const std::string &tutorial = "");
/// Ratios of published times and of lower bounds, for the posts' GPUs if they are listed. Takes seconds.
std::vector<Figure> predictions(const std::string &tutorial = "");
/// The tutorials that have figures.
std::vector<std::string> tutorials_with_figures();

} // namespace nestsmith
