#pragma once
/// Measurement of points in a child process, so that a kernel that hangs or crashes does not end the search.

#include "dsl/schedule/knobs.h"
#include "runtime/records/record.h"
#include "runtime/tune/child.h"
#include "tools/bench/bench.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith::cli {

/// The GPU of the child process and its software.
struct TuneMachine {
  std::string gpu, driver, nvrtc; ///< "NVIDIA H200", "13.0", "13.0"
  std::string peer;               ///< "cuBLAS 13.0.2"; empty if there is none
};

/// The parent's side: a child that measures, started at the first use and again after a failure.
class TuneMeasurer {
public:
  /// `start` starts a child; a test passes another one. `timeout_seconds` is the longest time without a
  /// message of the child.
  explicit TuneMeasurer(
      std::function<tune::Child()> start = [] { return tune::Child::start(); }, double timeout_seconds = 60)
      : start_(std::move(start)), timeout_seconds_(timeout_seconds) {}

  /// Starts the child. Throws the child's UserError (no_device without a GPU or a compiler).
  const TuneMachine &machine();
  /// Measures the points in turns with `rounds` samples each, after a check of their results. If the child ends
  /// or does not answer, the point that it executed has the outcome `crashed` or `hung`, and a new child
  /// measures the others. `shape`: another one than that of the command line.
  std::vector<records::Measurement> measure(const std::vector<KnobValues> &points, int rounds,
                                            const std::optional<Shape> &shape = std::nullopt);
  /// Called with a description of each step.
  std::function<void(const std::string &)> on_step = [](const std::string &) {};

private:
  tune::Child &child();
  /// One request. Returns the point that ended it, if a point did; `done` otherwise has all results.
  struct Turn {
    std::vector<records::Measurement> done;
    bool failed = false;
    std::optional<std::size_t> culprit; ///< position in the request
    records::Measurement failure;
  };
  Turn turn(const std::vector<KnobValues> &points, int rounds, const std::optional<Shape> &shape);

  std::function<tune::Child()> start_;
  double timeout_seconds_;
  std::optional<tune::Child> child_;
  std::optional<TuneMachine> machine_;
};

/// The child's side: answers requests until the parent ends. `setting` is that of all measurements.
ExitCode serve_measurements(const Context &context, tune::Parent &parent, const ChosenRung &choice,
                            const Shape &shape, const BenchSetting &setting);

} // namespace nestsmith::cli
