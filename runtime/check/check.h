#pragma once
/// Checks that a lowered schedule computes the same results as its program.

#include "dsl/array.h"
#include "dsl/schedule.h"
#include "lowering/plan.h"
#include "runtime/check/executor.h"
#include "runtime/check/reference.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

/// The inputs of one run of a check, and the required accuracy. "Bit for bit" means that all bits must be equal
/// to the reference:
///   random    f32 in [-1, 1), scalars with 0.5 <= |x| < 1.5; within the error bound
///   integers  f32 with small nonzero integers, every partial sum below 2^24 in magnitude; bit for bit
///   ring      u32, all values; bit for bit
///   infinite  half of all elements infinite, the others small and positive; bit for bit. Detects a mask that
///     is missing on one factor of a masked product: 0 times infinity is NaN
///   opposite  like `infinite`, with the two halves exchanged
///   switched  like `integers` or `ring`, but the scalar that disables the read of an inout parameter (beta)
///     is 0, and the inout parameter is filled with NaN, or with poison if its dtype is an integer; bit for bit
enum class CheckRun : std::uint8_t { random, integers, ring, switched, infinite, opposite };

struct WrongElement {
  std::string buffer;
  std::vector<std::int64_t> index;
  double got = 0, expected = 0;
};

/// The result of one run.
struct RunResult {
  CheckRun run = CheckRun::random;
  std::string label; ///< "floating point", "beta = 0, C full of NaN"
  bool passed = false;
  double max_error = 0;            ///< largest |got - expected|
  double max_error_over_bound = 0; ///< for `random` only: the run passes if this is at most 1
  std::vector<std::int64_t> where; ///< index of the element with the largest error
  std::int64_t wrong_elements = 0;
  std::optional<WrongElement> first_wrong;
  std::vector<std::string> messages; ///< the first wrong elements, and diagnostics of the executor
};

/// A run that was skipped.
struct SkippedRun {
  std::string label; ///< "integer mode"
  std::string why;   ///< the reason: "it divides, …"
};

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
};

/// Arrays and scalars for one run of `source`, in the order of its parameters. Outputs are filled with a poison
/// value.
struct Inputs {
  std::vector<Array> arrays;
  std::vector<Scalar> scalars;
};
/// `largest_integer` is the largest absolute value of the inputs in the runs `integers` and `switched`.
Inputs make_inputs(const Program &source, CheckRun run, std::uint64_t seed, int largest_integer = 8);

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
    std::string skip; ///< reason to skip the run, or empty
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
