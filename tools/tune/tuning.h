#pragma once
/// The search for the best point of a rung at one shape: the command `tune` without its text.

#include "runtime/records/database.h"
#include "runtime/tune/search.h"
#include "runtime/tune/space.h"
#include "tools/bench/bench.h"
#include "tools/results/analysed.h"
#include "tools/tune/shard.h"
#include "tools/tune/tune_measure.h"

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nestsmith::cli {

struct TuneOptions {
  std::int64_t trials = 200;     ///< maximum number of points to compile
  std::optional<double> minutes; ///< maximum duration of the measurements
  std::uint64_t seed = 1;
  tune::SearchMethod way = tune::SearchMethod::learn;
  Shard shard;          ///< the points of this process
  BenchSetting setting; ///< of all measurements
};

/// Throws UserError (usage): the rung has no knobs.
[[noreturn]] void refuse_without_knobs(const std::string &rung);

/// A rung and its space at one shape.
class Tuning {
public:
  Tuning(const Context &context, ChosenRung choice, Shape shape, DType dtype, ChosenGpu gpu,
         TuneOptions options);

  const ChosenRung &choice() const { return choice_; }
  const Shape &shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  const Shard &shard() const { return options_.shard; }
  const Gpu &gpu() const { return gpu_.gpu; }
  Target target() const { return target_of(gpu_.gpu); }
  const BenchSetting &setting() const { return options_.setting; }
  /// The points that were tried. After `rank` and `measure`, with those that were removed since.
  const tune::Space &space() const { return space_; }
  /// Sentences about missing results.
  const std::vector<std::string> &notes() const { return notes_; }

  /// Builds the points: all, or up to 20,000, or, for a search, up to 4,000. If there are more, builds a random
  /// choice of them. Throws UserError (usage) if the rung has no knobs.
  void enumerate(bool all);
  /// Orders the points by the model. At most `trials` points are analysed, first those that a kernel table
  /// predicts to be the fastest ones.
  void rank();
  /// Stores the estimated times of the points that `rank` left.
  void store_estimates(records::Database &database) const;
  /// Measures points until the limit of trials or minutes, until all are measured, or until Ctrl-C. Stores each
  /// result in `database`, if it is not null, and takes results that it already has. Then measures the best
  /// points in turns until their order is stable. Returns a record for each point that was tried, the fastest
  /// first.
  std::vector<records::Record> measure(TuneMeasurer &measurer, records::Database *database);
  bool interrupted() const { return interrupted_; }
  /// Measures these points in turns, and stores the results in `database`, if it is not null.
  std::vector<records::Measurement> measure_points(const std::vector<KnobValues> &points,
                                                   TuneMeasurer &measurer, records::Database *database);
  /// The same, with the median time of each point in ms. None: it is not legal at this shape, or not measured.
  std::vector<std::optional<double>> measure_legal(const std::vector<KnobValues> &points,
                                                   TuneMeasurer &measurer, records::Database *database);
  /// The estimated time of each point, in seconds. None: the schedule is refused, or does not fit on an SM.
  std::vector<std::optional<double>> predict(const std::vector<KnobValues> &points);

private:
  using Points = std::vector<KnobValues>;
  using Clock = std::chrono::steady_clock;

  tune::Built build(Knobs &knobs) const;
  /// Compiles and analyses the points, and removes those that are not worth a measurement.
  Points worth_measuring(const Points &points);
  /// Empty without NVRTC.
  std::vector<KernelResources> resources(const kernel::Plan &plan) const;
  records::Record record_of(const KnobValues &knobs, const TuneMachine &machine) const;
  void store(const std::vector<KnobValues> &points, const std::vector<records::Measurement> &results,
             int rounds, const TuneMachine &machine, records::Database *database);
  /// Takes the results of the database, for the same kernels on the same machine.
  void reuse(tune::Search &search, const TuneMachine &machine, const records::Database &database);
  /// Adds the points that a kernel table predicts to be the fastest ones to the space, and returns them. None
  /// without a table, or unless the search learns.
  Points add_predicted();
  /// The points of a random choice that the model estimates to be the fastest ones.
  Points estimated_first(const tune::Search &search);
  /// Tells the search the result of a candidate.
  void learn(tune::Search &search, std::size_t candidate) const;
  void search_points(tune::Search &search, Clock::time_point start, TuneMeasurer &measurer,
                     records::Database *database);
  /// Adds the points that differ in one knob from the best ones.
  void add_neighbours(tune::Search &search);
  void measure_finalists(TuneMeasurer &measurer, records::Database *database);
  std::vector<records::Record> sorted_records() const;
  void show(const std::string &step);

  const Context &context_;
  ChosenRung choice_;
  Shape shape_;
  DType dtype_;
  ChosenGpu gpu_;
  TuneOptions options_;
  tune::Space space_;
  double least_seconds_ = std::numeric_limits<double>::infinity(); ///< of the predictions
  std::map<KnobValues, records::Record> records_;
  std::set<KnobValues> expanded_; ///< points whose neighbours were added
  std::vector<std::string> notes_;
  Progress progress_;
  bool interrupted_ = false;
};

} // namespace nestsmith::cli
