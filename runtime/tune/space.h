#pragma once
/// The points of a schedule with knobs, and the reasons for which points are removed before a measurement.

#include "dsl/ir/program.h"
#include "dsl/schedule/knobs.h"
#include "lowering/plan.h"
#include "runtime/model/analysis.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::tune {

/// The schedule at one point, lowered for the shape of the launch.
struct Built {
  Program source; ///< the computation at this shape
  kernel::Plan plan;
};
/// Builds a point. Throws UserError if the schedule is illegal at this point.
using Build = std::function<Built(Knobs &)>;

/// The model of runtime/model/analysis.h at one point.
struct Prediction {
  double seconds = 0; ///< estimated time, summed over the kernels
  Resource limiter = Resource::issue;
  /// Of the kernel with the largest minimum time. `registers` is unknown without NVRTC.
  std::optional<int> registers;
  double occupancy = 0;
  std::int64_t spilled_bytes = 0; ///< moved by spill instructions, summed over the kernels
};

struct Point {
  KnobValues knobs;
  std::optional<Prediction> prediction = std::nullopt; ///< set by `predict`
};

/// The points that were tried.
struct Space {
  /// All knobs that a point asked for, in the order of the first request, with the candidates of all points.
  std::vector<Knob> knobs;
  std::vector<Point> points;
  /// The number of removed points by reason: the tag of a requirement (docs/language.md), or a message without
  /// its advice, with N for each number.
  std::map<std::string, std::int64_t> removed;
  bool complete = true; ///< false if a limit ended the enumeration

  std::int64_t tried() const; ///< number of points, with the removed ones
};

/// Called after each point with the number of finished points. Returns false to stop.
using OnPoint = std::function<bool(std::size_t done)>;

/// The number of points if every point asks for the knobs of the first point, with the same candidates.
double estimated_points(const Build &build, const KnobValues &fixed);

/// The knobs in `fixed` have these values at all points. A point that `build` refuses is counted in `removed`.
/// `enumerate` builds all points, or the first `limit`, in the order of KnobSpace. `sample` builds the default
/// point, and random points until there are `limit` different ones, on all cores; the result does not depend on
/// their number. It ends early if 100 seeds in succession give no new point.
Space enumerate(const Build &build, const KnobValues &fixed, std::int64_t limit, const OnPoint &on_point);
Space sample(const Build &build, const KnobValues &fixed, std::int64_t limit, std::uint64_t seed,
             const OnPoint &on_point);

/// Builds each point that differs from `point` in the value of one knob, except for the knobs in `fixed`, and
/// adds the legal ones that the space does not have. Returns them.
std::vector<KnobValues> add_neighbours(Space &space, const Build &build, const KnobValues &fixed,
                                       const KnobValues &point);

/// If there are more than `limit` points, keeps the first one, which has the default of each knob if this is
/// legal, then those of `wanted` in their order, and a random choice of the others.
void thin_out(Space &space, std::int64_t limit, std::uint64_t seed, const std::vector<KnobValues> &wanted = {});

/// Compiles the plan of one point for the GPU. Returns the resources of each kernel, or an empty vector without
/// NVRTC.
using Resources = std::function<std::vector<KernelResources>(const kernel::Plan &)>;
/// Analyses each point for `gpu` on `threads` threads (0: one per core), sets its prediction, and sorts the
/// points by estimated time. Removes a point that does not fit on an SM.
void predict(Space &space, const Build &build, const Gpu &gpu, const Resources &resources, unsigned threads,
             const OnPoint &on_point);

/// Limits on the prediction of a point.
struct Pruning {
  std::int64_t max_spilled_bytes = 256;
  double max_slowdown = 3; ///< relative to the least estimated time of all points
  /// The least estimated time of points that are not in the space.
  double least_seconds = std::numeric_limits<double>::infinity();
};
/// Removes and counts the points beyond the limits.
void prune(Space &space, const Pruning &pruning);

} // namespace nestsmith::tune
