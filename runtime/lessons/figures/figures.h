#pragma once
/// What the tutorials' posts say in numbers, and what nestsmith finds for the same rungs: counted, modelled, or
/// predicted from the bounds. Nothing is fitted to what was published.

#include "runtime/model/analysis.h"
#include "schedules/rung.h"

#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

/// How a figure of ours came about.
///   counted    of the lowered kernel: exact
///   data       from the figures of the GPU
///   occupancy  by cuda_occupancy.h, or, in a build without it, by threads, blocks and shared memory
///   modelled   by the model of the caches
///   predicted  the ratio of two least times: it knows no latency
enum class FigureSource : std::uint8_t { counted, data, occupancy, modelled, predicted };
std::string_view name(FigureSource source);

struct Figure {
  std::string tutorial; ///< "deep_dive"
  std::string what;     ///< "shared: loads of global memory for a result, K = 1024"
  double published = 0; ///< as the post has it
  double right = 0;     ///< what it must be: the same, but for the post's errors
  double ours = 0;
  FigureSource source = FigureSource::counted;
  double tolerance = 0;  ///< of `ours` against `right`, relative: for what was published in two digits
  std::string note = {}; ///< why the post's is wrong, or what the model does not know
};

/// reproduced  ours is what was published
/// corrected   ours is right, and what was published is not
/// agrees      a prediction goes the way the measurement went: up, down, or neither (within 5 %)
/// disagrees   a prediction does not
/// wrong       ours is not what it must be
enum class FigureVerdict : std::uint8_t { reproduced, corrected, agrees, disagrees, wrong };
std::string_view name(FigureVerdict verdict);
FigureVerdict verdict(const Figure &figure);

/// Those of one tutorial, or of all in their order.
std::vector<Figure> figures(const std::string &tutorial = "");
/// Ratios of published times beside those of least times, on the posts' own GPUs where they are listed. Takes
/// seconds.
std::vector<Figure> predictions(const std::string &tutorial = "");
/// The tutorials that have figures.
std::vector<std::string> tutorials_with_figures();

} // namespace nestsmith
