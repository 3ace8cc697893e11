#include "runtime/tune/space.h"

#include "dsl/expr/error.h"
#include "dsl/expr/identifier.h"
#include "runtime/model/analyse.h"
#include "runtime/sim/workers.h"
#include "runtime/tune/search.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <mutex>
#include <set>

namespace nestsmith::tune {

namespace {

/// The text with N for each number that is a word of its own.
std::string without_numbers(const std::string &text) {
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string result;
  for (std::size_t n = 0; n < text.size();) {
    std::size_t end = n;
    while (end < text.size() && digit(text[end]))
      ++end;
    if (end > n && (n == 0 || !in_identifier(text[n - 1])) && (end == text.size() || !in_identifier(text[end])))
      result += 'N', n = end;
    else
      result += text[n++];
  }
  return result;
}

/// The requirement that a point does not meet, or the message without its advice.
std::string reason_of(const UserError &error) {
  const auto *refusal = dynamic_cast<const ScheduleError *>(&error);
  if (refusal && !refusal->requirement().empty())
    return refusal->requirement();
  std::string message = refusal ? refusal->message() : error.what();
  return without_numbers(message.substr(0, message.find_first_of(";\n")));
}

void add_knobs(Space &space, const std::vector<Knob> &asked) {
  for (const Knob &knob : asked) {
    auto known = std::ranges::find(space.knobs, knob.name, &Knob::name);
    if (known == space.knobs.end()) {
      space.knobs.push_back(knob);
      continue;
    }
    for (const std::string &candidate : knob.candidates) // they may depend on earlier choices
      if (std::ranges::find(known->candidates, candidate) == known->candidates.end())
        known->candidates.push_back(candidate);
  }
}

/// Builds the point, and adds it to the points or to the removed ones.
void add(Space &space, const Build &build, Knobs &knobs) {
  std::string removed;
  try {
    build(knobs);
  } catch (const UserError &error) {
    removed = reason_of(error);
  }
  if (removed.empty())
    space.points.push_back({knobs.chosen()});
  else
    ++space.removed[removed];
  add_knobs(space, knobs.asked());
}

/// Adds the points of `other`.
void merge(Space &space, const Space &other) {
  space.points.insert(space.points.end(), other.points.begin(), other.points.end());
  for (const auto &[reason, count] : other.removed)
    space.removed[reason] += count;
  add_knobs(space, other.knobs);
}

/// One random point: its knobs, and a space that contains only this point.
struct Draw {
  KnobValues knobs;
  Space space;
};

/// Builds the points of the seeds first, first + 1, … on all cores.
std::vector<Draw> draw(const Build &build, const KnobValues &fixed, std::uint64_t seed, std::uint64_t first,
                       std::size_t count) {
  std::vector<Draw> draws(count);
  sim::for_each_index(0, count, [&](std::size_t n) {
    Knobs knobs = first + n == 0 ? Knobs(fixed) : Knobs::random(seed + first + n, fixed);
    add(draws[n].space, build, knobs);
    draws[n].knobs = knobs.chosen();
  });
  return draws;
}

/// Throws UserError if the kernels do not fit on the GPU.
Prediction predict_point(const Built &built, const Gpu &gpu, const Resources &resources) {
  std::vector<KernelResources> compiled = resources(built.plan);
  PlanAnalysis analysis = analyse(built.source, built.plan, gpu, compiled, {.host_threads = 1});
  const KernelAnalysis &slowest = analysis.slowest();
  Prediction prediction{.seconds = analysis.estimated_seconds(),
                        .limiter = analysis.limiter(),
                        .registers = std::nullopt,
                        .occupancy = slowest.occupancy.ratio()};
  if (slowest.compiled)
    prediction.registers = slowest.compiled->registers;
  for (const KernelResources &kernel : compiled)
    prediction.spilled_bytes += kernel.spill_stores + kernel.spill_loads;
  return prediction;
}

} // namespace

std::int64_t Space::tried() const {
  auto count = static_cast<std::int64_t>(points.size());
  for (const auto &[reason, removed_points] : removed)
    count += removed_points;
  return count;
}

double estimated_points(const Build &build, const KnobValues &fixed) {
  Space first;
  Knobs knobs(fixed);
  add(first, build, knobs);
  double product = 1;
  for (const Knob &knob : first.knobs)
    product *= fixed.contains(knob.name) ? 1 : static_cast<double>(knob.candidates.size());
  return product;
}

Space enumerate(const Build &build, const KnobValues &fixed, std::int64_t limit, const OnPoint &on_point) {
  Space space;
  std::int64_t done = 0;
  for (KnobSpace points(fixed); points.has_point();) {
    if (done == limit) {
      space.complete = false;
      break;
    }
    Knobs knobs = points.point();
    add(space, build, knobs);
    points.advance(knobs);
    if (!on_point(static_cast<std::size_t>(++done))) {
      space.complete = !points.has_point();
      break;
    }
  }
  return space;
}

Space sample(const Build &build, const KnobValues &fixed, std::int64_t limit, std::uint64_t seed,
             const OnPoint &on_point) {
  constexpr int most_repeats = 100;
  // A constant, so that the result does not depend on the number of cores.
  constexpr std::size_t points_at_a_time = 64;
  Space space;
  space.complete = false;
  std::set<KnobValues> known;
  int repeats = 0;
  for (std::uint64_t first = 0;; first += points_at_a_time)
    for (const Draw &drawn : draw(build, fixed, seed, first, points_at_a_time)) {
      if (!known.insert(drawn.knobs).second) {
        if (++repeats == most_repeats)
          return space;
        continue;
      }
      repeats = 0;
      merge(space, drawn.space);
      if (!on_point(known.size()) || static_cast<std::int64_t>(known.size()) >= limit)
        return space;
    }
}

std::vector<KnobValues> add_neighbours(Space &space, const Build &build, const KnobValues &fixed,
                                       const KnobValues &point) {
  auto known = [&](const KnobValues &knobs) {
    return knobs == point || std::ranges::find(space.points, knobs, &Point::knobs) != space.points.end();
  };
  std::vector<KnobValues> added;
  Knobs asked(point);
  build(asked);
  for (const Knob &knob : asked.asked())
    for (const std::string &candidate : knob.candidates) {
      KnobValues values = point;
      values[knob.name] = candidate;
      if (fixed.contains(knob.name) || known(values))
        continue;
      Knobs changed(values);
      try {
        build(changed);
      } catch (const UserError &) { // the enumeration counts refusals; these points are extra ones
        continue;
      }
      if (known(changed.chosen())) // another value may end a request for a knob
        continue;
      space.points.push_back({changed.chosen()});
      added.push_back(changed.chosen());
    }
  return added;
}

void thin_out(Space &space, std::int64_t limit, std::uint64_t seed, const std::vector<KnobValues> &wanted) {
  auto most = static_cast<std::size_t>(std::max<std::int64_t>(limit, 1));
  if (space.points.size() <= most)
    return;
  std::ranges::stable_sort(space.points.begin() + 1, space.points.end(), {}, [&](const Point &point) {
    return std::pair(std::ranges::find(wanted, point.knobs) - wanted.begin(), random_key(point.knobs, seed));
  });
  space.points.resize(most);
}

void predict(Space &space, const Build &build, const Gpu &gpu, const Resources &resources, unsigned threads,
             const OnPoint &on_point) {
  std::vector<std::string> removed(space.points.size());
  std::mutex mutex;
  std::size_t done = 0;
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopped = false;
  auto work = [&](std::size_t) {
    while (true) {
      std::size_t n = next++;
      if (n >= space.points.size() || stopped)
        return;
      Point &point = space.points[n];
      try {
        Knobs knobs(point.knobs);
        point.prediction = predict_point(build(knobs), gpu, resources);
      } catch (const UserError &error) {
        removed[n] = reason_of(error);
      }
      std::lock_guard lock(mutex);
      if (!on_point(++done))
        stopped = true;
    }
  };
  std::vector<std::size_t> workers(sim::worker_count(threads, space.points.size()));
  sim::run_workers(workers, work);
  std::vector<Point> kept;
  for (std::size_t n = 0; n < space.points.size(); ++n)
    if (!removed[n].empty())
      ++space.removed[removed[n]];
    else if (space.points[n].prediction)
      kept.push_back(std::move(space.points[n]));
    else
      space.complete = false;
  std::ranges::stable_sort(kept, {}, [](const Point &point) { return point.prediction->seconds; });
  space.points = std::move(kept);
}

void prune(Space &space, const Pruning &pruning) {
  if (space.points.empty())
    return;
  double least = pruning.least_seconds;
  for (const Point &point : space.points)
    least = std::min(least, point.prediction->seconds);
  std::erase_if(space.points, [&](const Point &point) {
    std::string reason;
    if (point.prediction->spilled_bytes > pruning.max_spilled_bytes)
      reason = fmt::format("registers spill (more than {} bytes)", pruning.max_spilled_bytes);
    else if (point.prediction->seconds > pruning.max_slowdown * least)
      reason = fmt::format("predicted at more than {:g} times the least time", pruning.max_slowdown);
    else
      return false;
    ++space.removed[reason];
    return true;
  });
}

} // namespace nestsmith::tune
