#pragma once
/// Checks that a lowered schedule computes the same results as its program.

#include "dsl/schedule.h"
#include "lowering/plan.h"
#include "runtime/check/comparison.h"
#include "runtime/check/executor.h"
#include "runtime/check/inputs.h"
#include "runtime/check/reference.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

/// A run that was skipped, or that did not compare everything.
struct SkippedRun {
  std::string label; ///< "integer mode"
  std::string why;   ///< what was not checked, and the reason
};

/// Joins the labels of the runs that have the same reason.
std::vector<SkippedRun> by_reason(const std::vector<SkippedRun> &skipped);

struct CheckResult {
  bool passed = true;
  std::vector<RunResult> runs;
  std::vector<SkippedRun> skipped;

  const RunResult *find(CheckRun run) const;
  /// Whether all bits were equal in every run that requires it. None if there was no such run.
  std::optional<bool> exact() const;
  std::vector<std::string> messages() const; ///< messages of all runs, each with the label of its run
};

struct CheckOptions {
  std::uint64_t seed = 1;
  bool exact_only = false; ///< skip `random`
  bool to_first = false;   ///< stop after the first failed run
  bool infinite = false;   ///< add the runs with infinities, for floating-point elements
  /// The roundings of the matrix unit for each addition, in units of 2^-24; `check` of a plan sets it.
  std::int64_t rounding_scale = 1;
};

/// Checks lowered schedules. Caches references for schedules of the same computation.
class Checker {
public:
  /// `multiplier`, if not null, computes large products of the reference. It must outlive the checker.
  explicit Checker(Multiplier *multiplier = nullptr) : multiplier_(multiplier) {}

  /// Runs `plan`, a lowered schedule of `source`, once for each kind of input that its dtype allows, and
  /// compares every element. If `source` has sizes, `plan` must have values for them. If the result is wrong,
  /// the function returns a failed result and throws no exception.
  CheckResult check(const Program &source, const kernel::Plan &plan, Executor &executor,
                    const CheckOptions &options = {});

  /// A candidate implementation of a program. It receives an array for each parameter and overwrites the
  /// outputs.
  using Compute = std::function<Execution(std::vector<Array> &arrays, const std::vector<Scalar> &scalars)>;
  /// The same for any candidate implementation of `source`, a program without sizes.
  CheckResult check(const Program &source, const Compute &compute, const CheckOptions &options = {});

private:
  struct Case {
    Inputs inputs;
    Reference expected;
    std::string skip;  ///< reason to skip the run, or empty
    bool exact = true; ///< every floating-point value is exact in f32
  };
  std::shared_ptr<const Case> make_case(const Program &source, CheckRun run, std::uint64_t seed);
  Multiplier *multiplier_;
  std::map<std::string, std::shared_ptr<const Case>> cases_;
};

inline CheckResult check(const Schedule &schedule, const kernel::Plan &plan, Executor &executor,
                         const CheckOptions &options = {}) {
  return Checker().check(schedule.source(), plan, executor, options);
}

} // namespace nestsmith
