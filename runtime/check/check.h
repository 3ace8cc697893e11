#pragma once
/// Checks that a lowered schedule computes the same results as its program.

#include "dsl/schedule/schedule.h"
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

/// Joins the labels of the runs that have the same reason. Reasons that differ in the number at their beginning
/// are the same: "20520 to 36721 elements have no error bound".
std::vector<SkippedRun> by_reason(const std::vector<SkippedRun> &skipped);

/// The number of elements of an output that the runs compared.
struct Coverage {
  std::string buffer;
  std::int64_t elements = 0;
  std::int64_t compared = 0; ///< in the run that compared most of them
  std::string run;           ///< the label of this run, or empty if no run compared an element
  bool in_full() const { return compared == elements; }
};

enum class CheckOutcome : std::uint8_t {
  right,       ///< no run failed, and for each output a run compared every element
  wrong,       ///< a run failed
  not_compared ///< no run failed, but some elements were compared by no run, so that nothing is known of them
};
std::string_view name(CheckOutcome outcome); ///< "right", "wrong", "not compared"

struct CheckResult {
  bool passed = true; ///< the outcome is `right`
  std::vector<RunResult> runs;
  std::vector<SkippedRun> skipped;
  std::vector<Coverage> outputs = {}; ///< one for each output

  CheckOutcome outcome() const;
  const RunResult *find(CheckRun run) const;
  /// Whether all bits were equal in every run on integers in which they are defined. None if there was no such
  /// run. A run on residues is none: it says nothing of the roundings.
  std::optional<bool> exact() const;
  /// The messages of all runs, each with the label of its run, and the outputs that were not compared in full.
  std::vector<std::string> messages() const;
};

struct CheckOptions {
  std::uint64_t seed = 1;
  bool exact_only = false; ///< skip `random` and `ties`, unless an output has no exact run
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

  /// Runs `plan`, a lowered schedule of `source`, once for each kind of input that its dtype allows. If some
  /// elements have no error bound for these inputs, tries others (`CheckRun::positive` and later). If `source`
  /// has sizes, `plan` must have values for them. If the result is wrong, the function returns a failed result
  /// and throws no exception.
  CheckResult check(const Program &source, const kernel::Plan &plan, Executor &executor,
                    const CheckOptions &options = {});

  /// A candidate implementation of a program. It receives an array for each parameter and overwrites the
  /// outputs.
  using Compute = std::function<Execution(std::vector<Array> &arrays, const std::vector<Scalar> &scalars)>;
  /// The same for any candidate implementation of `source`, a program without sizes.
  CheckResult check(const Program &source, const Compute &compute, const CheckOptions &options = {});

private:
  using ComputeResidues = std::function<Execution(Arithmetic arithmetic, std::vector<Array> &arrays,
                                                  const std::vector<Scalar> &scalars)>;
  /// `residues` may be null.
  CheckResult check(const Program &source, const Compute &compute, const ComputeResidues &residues,
                    const CheckOptions &options);
  struct Case {
    Inputs inputs;
    Reference expected;
    std::string skip; ///< reason to skip the run, or empty
  };
  std::shared_ptr<const Case> make_case(const Program &source, CheckRun run, const CheckOptions &options);
  void make_run(const Program &source, const Compute &compute, CheckRun run, const CheckOptions &options,
                CheckResult &result);
  Multiplier *multiplier_;
  std::map<std::string, std::shared_ptr<const Case>> cases_;
};

inline CheckResult check(const Schedule &schedule, const kernel::Plan &plan, Executor &executor,
                         const CheckOptions &options = {}) {
  return Checker().check(schedule.source(), plan, executor, options);
}

} // namespace nestsmith
