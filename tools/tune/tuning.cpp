#include "tools/tune/tuning.h"

#include "dsl/schedule/trace.h"
#include "runtime/records/fields.h"
#include "tools/results/record_of.h"
#include "tools/tune/interrupt.h"
#include "tools/tune/time_left.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <future>
#include <mutex>

namespace nestsmith::cli {

namespace {

/// The points that are built: all of a small space, or a part of a large one. A search adds the neighbours of
/// its best points.
constexpr std::int64_t most_listed = 20'000, most_searched = 4'000;
constexpr std::size_t expanded_at_once = 2;
/// Samples of each point in the search, and among the finalists.
constexpr int search_rounds = 5, final_rounds = 15;
constexpr std::size_t batch_size = 16, finalists = 8, stable_places = 3;
constexpr int most_finals = 5;
/// The points with which a search begins, after the default: those of a kernel table, or without one those of
/// the model among a random choice of `most_estimated`.
constexpr std::size_t most_first = 8, most_estimated = 48;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

void refuse_without_knobs(const std::string &rung) {
  throw UserError(ExitCode::usage,
                  fmt::format("'{}' has no knobs; a schedule function with choices takes Knobs as its fourth "
                              "parameter (dsl/schedule/knobs.h)",
                              rung));
}

Tuning::Tuning(const Context &context, ChosenRung choice, Shape shape, DType dtype, ChosenGpu gpu,
               TuneOptions options)
    : context_(context), choice_(std::move(choice)), shape_(std::move(shape)), dtype_(dtype),
      gpu_(std::move(gpu)), options_(options) {}

tune::Built Tuning::build(Knobs &knobs) const {
  Scheduled scheduled = schedule_at(choice_, shape_, dtype_, target_of(gpu_.gpu), knobs);
  return {scheduled.source(), scheduled.plan()};
}

void Tuning::show(const std::string &step) { progress_.step(step); }

void Tuning::enumerate(bool all) {
  std::int64_t most_points = all ? most_listed : most_searched;
  auto build_point = [&](Knobs &knobs) { return build(knobs); };
  auto report = [&](std::size_t done) {
    show(fmt::format("{} points built", done));
    return true;
  };
  bool small = tune::estimated_points(build_point, choice_.knobs) <= static_cast<double>(most_points);
  if (small)
    space_ = tune::enumerate(build_point, choice_.knobs, most_points, report);
  if (!small || !space_.complete)
    space_ = tune::sample(build_point, choice_.knobs, most_points, options_.seed, report);
  progress_.clear();
  if (space_.knobs.empty() && space_.points.empty()) { // a knob was refused: its error says why
    Knobs usual(choice_.knobs);
    build(usual);
  }
  if (space_.knobs.empty())
    refuse_without_knobs(choice_.name);
}

void Tuning::rank() {
  tune::thin_out(space_, options_.trials, options_.seed, add_predicted());
  std::mutex mutex;
  std::string note;
  auto resources = [&](const kernel::Plan &plan) {
    std::string reason;
    std::vector<KernelResources> compiled = resources_if_possible(plan, gpu_.gpu, reason);
    std::lock_guard lock(mutex);
    note = reason;
    return compiled;
  };
  std::size_t total = space_.points.size();
  CatchInterrupt catch_interrupt;
  std::size_t analysed = 0;
  const auto start = Clock::now();
  auto report = [&](std::size_t done) {
    analysed = done;
    show(fmt::format("{}: {} of {} points compiled and analysed, {}", to_text(shape_), done, total,
                     time_left_text(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total),
                                    seconds_since(start), std::nullopt)));
    return interrupt_requested == 0;
  };
  tune::predict(
      space_, [&](Knobs &knobs) { return build(knobs); }, gpu_.gpu, resources, 0, report);
  tune::prune(space_, {});
  interrupted_ = interrupt_requested != 0;
  if (interrupted_)
    notes_.push_back(fmt::format("interrupted: {} of {} points were analysed", analysed, total));
  if (!note.empty())
    notes_.push_back(note);
  progress_.clear();
}

void Tuning::store_estimates(records::Database &database) const {
  std::vector<records::Record> list;
  for (const tune::Point &point : space_.points) {
    if (!point.prediction)
      continue;
    records::Record record; // without the text of its kernel: a later estimate of the point replaces it
    record.outcome = records::Outcome::estimated;
    record.median_ms = point.prediction->seconds * 1e3;
    if (!point.prediction->registers)
      record.message = "the least time: no compiler gave the machine code";
    record.rung = choice_.name;
    record.knobs = point.knobs;
    record.shape = to_text(shape_);
    record.symbolic = shape_.stated.has_value();
    record.dtype = name(dtype_);
    record.gpu = gpu_.gpu.product;
    record.nestsmith = version_text();
    record.measured_at = now_text();
    list.push_back(std::move(record));
  }
  database.add(list);
}

std::vector<KernelResources> Tuning::resources(const kernel::Plan &plan) const {
  std::string ignored;
  return resources_if_possible(plan, gpu_.gpu, ignored);
}

std::vector<std::optional<double>> Tuning::predict(const Points &points) {
  std::map<KnobValues, double> seconds;
  for (const tune::Point &point : space_.points)
    if (point.prediction)
      seconds[point.knobs] = point.prediction->seconds;
  tune::Space part;
  for (const KnobValues &knobs : points)
    if (!seconds.contains(knobs))
      part.points.push_back({knobs});
  auto resources = [&](const kernel::Plan &plan) { return this->resources(plan); };
  const std::size_t all = part.points.size();
  auto report = [&](std::size_t done) {
    show(fmt::format("{} of {} points of {} analysed", done, all, to_text(shape_)));
    return true;
  };
  tune::predict(
      part, [&](Knobs &knobs) { return build(knobs); }, gpu_.gpu, resources, 0, report);
  progress_.clear();
  for (const tune::Point &point : part.points)
    seconds[point.knobs] = point.prediction->seconds;
  std::vector<std::optional<double>> result;
  for (const KnobValues &knobs : points) {
    auto found = seconds.find(knobs);
    result.push_back(found == seconds.end() ? std::nullopt : std::optional(found->second));
  }
  return result;
}

Tuning::Points Tuning::worth_measuring(const Points &points) {
  tune::Space part;
  for (const KnobValues &knobs : points)
    part.points.push_back({knobs});
  auto resources = [&](const kernel::Plan &plan) { return this->resources(plan); };
  tune::predict(
      part, [&](Knobs &knobs) { return build(knobs); }, gpu_.gpu, resources, 0,
      [](std::size_t) { return interrupt_requested == 0; });
  for (const tune::Point &point : part.points)
    least_seconds_ = std::min(least_seconds_, point.prediction->seconds);
  tune::prune(part, {.least_seconds = least_seconds_});
  for (const auto &[reason, count] : part.removed)
    space_.removed[reason] += count;
  Points left;
  for (const tune::Point &point : part.points) {
    left.push_back(point.knobs);
    auto known = std::ranges::find(space_.points, point.knobs, &tune::Point::knobs);
    known->prediction = point.prediction;
  }
  std::erase_if(space_.points, [&](const tune::Point &point) {
    return std::ranges::find(points, point.knobs) != points.end() &&
           std::ranges::find(left, point.knobs) == left.end() && interrupt_requested == 0;
  });
  return left;
}

records::Record Tuning::record_of(const KnobValues &knobs, const TuneMachine &machine) const {
  Knobs chosen(knobs);
  Scheduled scheduled = schedule_at(choice_, shape_, dtype_, target_of(gpu_.gpu), chosen);
  records::Record record =
      point_of(scheduled, scheduled.plan(), options_.setting, {machine.gpu, machine.driver, machine.nvrtc});
  record.knobs = knobs;
  record.symbolic = shape_.stated.has_value();
  record.peer = machine.peer;
  record.trace = to_json(trace_file(scheduled.schedule, scheduled.shape, scheduled.dtype, knobs));
  return record;
}

void Tuning::store(const std::vector<KnobValues> &points, const std::vector<records::Measurement> &results,
                   int rounds, const TuneMachine &machine, records::Database *database) {
  std::vector<records::Record> stored;
  for (std::size_t n = 0; n < points.size(); ++n) {
    records::Record record = record_of(points[n], machine);
    static_cast<records::Measurement &>(record) = results[n];
    record.samples = record.outcome == records::Outcome::measured ? rounds : 0;
    record.measured_at = now_text();
    stored.push_back(record);
    records_[points[n]] = std::move(record);
  }
  if (database)
    database->add(stored);
}

std::vector<records::Record> Tuning::sorted_records() const {
  std::vector<records::Record> list;
  for (const auto &[knobs, record] : records_)
    list.push_back(record);
  std::ranges::stable_sort(list, {}, [](const records::Record &record) {
    return std::pair(record.outcome != records::Outcome::measured, record.median_ms);
  });
  return list;
}

void Tuning::learn(tune::Search &search, std::size_t candidate) const {
  auto known = records_.find(search.candidate(candidate));
  bool measured = known != records_.end() && known->second.outcome == records::Outcome::measured;
  search.learn(candidate, measured ? std::optional(known->second.median_ms) : std::nullopt);
}

void Tuning::add_neighbours(tune::Search &search) {
  std::size_t expanded = 0;
  for (std::size_t best : search.best()) {
    KnobValues point = search.candidate(best);
    if (expanded == expanded_at_once)
      return;
    if (!expanded_.insert(point).second)
      continue;
    ++expanded;
    for (KnobValues &knobs : tune::add_neighbours(
             space_, [&](Knobs &values) { return build(values); }, choice_.knobs, point))
      search.add(std::move(knobs));
  }
}

void Tuning::measure_finalists(TuneMeasurer &measurer, records::Database *database) {
  std::vector<KnobValues> order;
  for (int repeat = 0; repeat < most_finals && interrupt_requested == 0; ++repeat) {
    Points points;
    for (const records::Record &record : sorted_records())
      if (record.outcome == records::Outcome::measured && points.size() < finalists)
        points.push_back(record.knobs);
    if (points.empty())
      return;
    progress_.show(fmt::format("the best {} points, measured in turns: {} …", points.size(), repeat + 1));
    store(points, measurer.measure(points, final_rounds, shape_), final_rounds, measurer.machine(), database);
    std::vector<KnobValues> now;
    for (const records::Record &record : sorted_records())
      if (now.size() < stable_places)
        now.push_back(record.knobs);
    if (now == order)
      return;
    order = now;
  }
  if (interrupt_requested == 0)
    notes_.push_back(
        fmt::format("the order of the best {} points was not stable after {} repeats: their times are "
                    "too close",
                    stable_places, most_finals));
}

std::vector<records::Measurement> Tuning::measure_points(const Points &points, TuneMeasurer &measurer,
                                                         records::Database *database) {
  measurer.on_step = [this](const std::string &step) { show(step); };
  std::vector<records::Measurement> results = measurer.measure(points, final_rounds, shape_);
  progress_.clear();
  store(points, results, final_rounds, measurer.machine(), database);
  return results;
}

std::vector<std::optional<double>> Tuning::measure_legal(const Points &points, TuneMeasurer &measurer,
                                                         records::Database *database) {
  std::vector<std::size_t> legal;
  Points measured;
  for (std::size_t n = 0; n < points.size(); ++n)
    try {
      Knobs knobs(points[n]);
      build(knobs);
      legal.push_back(n), measured.push_back(points[n]);
    } catch (const UserError &) { // at this shape
    }
  std::vector<std::optional<double>> ms(points.size());
  if (measured.empty())
    return ms;
  std::vector<records::Measurement> results = measure_points(measured, measurer, database);
  for (std::size_t n = 0; n < legal.size(); ++n)
    if (results[n].outcome == records::Outcome::measured)
      ms[legal[n]] = results[n].median_ms;
  return ms;
}

void Tuning::reuse(tune::Search &search, const TuneMachine &machine, const records::Database &database) {
  std::multimap<KnobValues, records::Record> stored;
  for (records::Record &record :
       database.find({.rung = choice_.name, .shape = to_text(shape_), .dtype = "", .gpu = machine.gpu}))
    if (record.outcome != records::Outcome::estimated)
      stored.emplace(record.knobs, std::move(record));
  // The points of a large space that an earlier search added are not among the candidates.
  std::set<KnobValues> missing;
  for (const auto &[knobs, record] : stored)
    missing.insert(knobs);
  for (std::size_t n = 0; n < search.size(); ++n)
    missing.erase(search.candidate(n));
  if (!space_.complete && options_.shard.count == 1)
    for (const KnobValues &knobs : missing) {
      space_.points.push_back({knobs});
      search.add(knobs);
    }
  for (std::size_t n = 0; n < search.size(); ++n) {
    auto [begin, end] = stored.equal_range(search.candidate(n));
    if (begin == end)
      continue;
    try {
      records::Record wanted = record_of(search.candidate(n), machine);
      for (auto known = begin; known != end; ++known)
        if (records::same_identity(known->second, wanted)) {
          records_[search.candidate(n)] = known->second;
          learn(search, n);
        }
    } catch (const UserError &) { // the schedule has changed since
      search.learn(n, std::nullopt);
    }
  }
  if (!records_.empty())
    notes_.push_back(fmt::format("{} results are from the database", records_.size()));
}

void Tuning::search_points(tune::Search &search, Clock::time_point start, TuneMeasurer &measurer,
                           records::Database *database) {
  auto out_of_time = [&] { return options_.minutes && seconds_since(start) >= *options_.minutes * 60; };
  std::int64_t tried = 0;
  auto propose = [&] {
    auto batch =
        search.propose(static_cast<std::size_t>(std::min<std::int64_t>(batch_size, options_.trials - tried)));
    tried += static_cast<std::int64_t>(batch.size());
    return batch;
  };
  auto compile = [&](const std::vector<std::size_t> &batch) {
    Points points;
    for (std::size_t candidate : batch)
      points.push_back(search.candidate(candidate));
    return std::async(std::launch::async,
                      [this, points = std::move(points)] { return worth_measuring(points); });
  };
  std::vector<std::size_t> batch = propose();
  Points compiled = compile(batch).get();
  while (!batch.empty() && interrupt_requested == 0 && !out_of_time()) {
    // The next batch is compiled while this one is measured, so it is proposed without the results of this one.
    std::vector<std::size_t> next = propose();
    std::future<Points> compiling = compile(next);
    if (!compiled.empty())
      store(compiled, measurer.measure(compiled, search_rounds, shape_), search_rounds, measurer.machine(),
            database);
    for (std::size_t candidate : batch)
      learn(search, candidate);
    compiled = compiling.get();
    batch = std::move(next);
    if (!space_.complete && options_.way == tune::SearchMethod::learn)
      add_neighbours(search);
    if (std::vector<std::size_t> best = search.best(); !best.empty()) {
      const records::Record &record = records_.at(search.candidate(best.front()));
      const std::int64_t all =
          std::min<std::int64_t>(options_.trials, static_cast<std::int64_t>(search.size()));
      const std::optional<double> limit =
          options_.minutes ? std::optional(*options_.minutes * 60) : std::nullopt;
      show(fmt::format(
          "{}: {} of {} points measured, {}; best: {:.4g} ms, {:.4g} TFLOP/s, {}", to_text(shape_),
          records_.size(), search.size(),
          time_left_text(tried - static_cast<std::int64_t>(batch.size()), all, seconds_since(start), limit),
          record.median_ms, record.operations / record.median_ms * 1e-9, to_string(record.knobs)));
    }
  }
}

Tuning::Points Tuning::add_predicted() {
  if (options_.way != tune::SearchMethod::learn || !choice_.knobs.empty())
    return {};
  // A search of another process has other points of the table.
  const auto shards = static_cast<std::size_t>(options_.shard.count);
  const Points points = predicted_points(choice_, shape_, dtype_, target(), most_first * shards);
  Points own;
  for (std::size_t n = 0; n < points.size(); ++n)
    if (n % shards == static_cast<std::size_t>(options_.shard.index))
      own.push_back(points[n]);
  own.resize(std::min(own.size(), static_cast<std::size_t>(options_.trials - 1))); // the first is the default
  for (const KnobValues &point : own)
    if (std::ranges::find(space_.points, point, &tune::Point::knobs) == space_.points.end())
      space_.points.push_back({point});
  if (!own.empty())
    notes_.push_back(
        fmt::format("the search began with the default and the {} points that the kernel table predicts to be "
                    "the fastest",
                    own.size()));
  return own;
}

Tuning::Points Tuning::estimated_first(const tune::Search &search) {
  if (search.size() <= batch_size ||
      options_.trials < 2) // the first batch has all of them, or only the default
    return {};
  tune::Space part;
  for (std::size_t n = 0; n < search.size(); ++n)
    part.points.push_back({search.candidate(n)});
  tune::thin_out(part, most_estimated, options_.seed);
  const std::size_t all = part.points.size();
  const auto start = Clock::now();
  auto report = [&](std::size_t done) {
    show(fmt::format("{}: {} of {} points estimated, to begin with the best of them", to_text(shape_), done,
                     all));
    constexpr double part_of_minutes = 0.25;
    return interrupt_requested == 0 &&
           (!options_.minutes || seconds_since(start) < part_of_minutes * *options_.minutes * 60);
  };
  tune::predict(
      part, [&](Knobs &knobs) { return build(knobs); }, gpu_.gpu,
      [&](const kernel::Plan &plan) { return resources(plan); }, 0, report);
  tune::prune(part, {});
  Points first;
  for (const tune::Point &point : part.points)
    if (first.size() < std::min(most_first, static_cast<std::size_t>(options_.trials - 1)))
      first.push_back(point.knobs);
  if (!first.empty())
    notes_.push_back(fmt::format("the search began with the default and the {} points of {} with the least "
                                 "times by the model of `explain`",
                                 first.size(), all));
  return first;
}

std::vector<records::Record> Tuning::measure(TuneMeasurer &measurer, records::Database *database) {
  CatchInterrupt catch_interrupt;
  const auto start = Clock::now();
  Points candidates;
  for (std::size_t n = 0; n < space_.points.size(); ++n)
    if (options_.shard.has(n))
      candidates.push_back(space_.points[n].knobs);
  tune::Search search(std::move(candidates), options_.way, options_.seed);
  const Points predicted = add_predicted();
  search.try_first(predicted);
  if (database)
    reuse(search, measurer.machine(), *database);
  if (options_.way == tune::SearchMethod::learn && predicted.empty() && records_.empty())
    search.try_first(estimated_first(search));
  search_points(search, start, measurer, database);
  measure_finalists(measurer, database);
  interrupted_ = interrupt_requested != 0;
  progress_.clear();
  return sorted_records();
}

} // namespace nestsmith::cli
