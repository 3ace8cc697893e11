#pragma once
/// Does a lowered schedule compute what its program says?

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

/// The inputs of one run of a check.
///   random    f32 in [-1, 1), scalars with 0.5 <= |x| < 1.5: within the error bound
///   integers  f32 holding small nonzero integers, so that every partial sum is below 2^24 in
///             magnitude: bit for bit
///   ring      u32, all values: bit for bit
///   infinite  half of all elements infinite, the others small and positive: bit for bit. A term that a mask
///             has made 0 shows where the other factor was not masked too: 0 times infinity is a NaN
///   opposite  the same, where those are infinite that were not
///   switched  as integers or ring, with the scalar that switches off a read of an inout parameter
///             (beta) 0 and that parameter full of NaN, or of poison in u32: bit for bit
enum class CheckRun : std::uint8_t { random, integers, ring, switched, infinite, opposite };

struct WrongElement {
  std::string buffer;
  std::vector<std::int64_t> index;
  double got = 0, expected = 0;
};

/// What one run showed.
struct RunResult {
  CheckRun run = CheckRun::random;
  std::string label; ///< "floating point", "beta = 0, C full of NaN"
  bool passed = false;
  double max_error = 0;            ///< largest |got - expected|
  double max_error_over_bound = 0; ///< `random` only; 1 is the most that passes
  std::vector<std::int64_t> where; ///< the element of it
  std::int64_t wrong_elements = 0;
  std::optional<WrongElement> first_wrong;
  std::vector<std::string> messages; ///< the first wrong elements, and what the executor found
};

/// A run that was left out.
struct SkippedRun {
  std::string label; ///< "integer mode"
  std::string why;   ///< "it divides, …"
};

struct CheckResult {
  bool passed = true;
  std::vector<RunResult> runs;
  std::vector<SkippedRun> skipped;

  const RunResult *find(CheckRun run) const;
  /// Bit for bit in every exact run; absent where there was none.
  std::optional<bool> exact() const;
  std::vector<std::string> messages() const; ///< of all runs, each with the label of its run
};

struct CheckOptions {
  std::uint64_t seed = 1;
  bool exact_only = false; ///< skip `random`
  bool to_first = false;   ///< skip the runs after one that fails
  bool infinite = false;   ///< add the runs with infinities, where the elements are floating-point numbers
};

/// Arrays and scalars for one run of `source`. Arrays of role output are poisoned.
struct Inputs {
  std::vector<Array> arrays;
  std::vector<Scalar> scalars;
};
/// `largest_integer` is the magnitude of the integers of `integers` and `switched`.
Inputs make_inputs(const Program &source, CheckRun run, std::uint64_t seed, int largest_integer = 8);

/// Checks lowered schedules, and keeps the reference between those that compute the same.
class Checker {
public:
  /// Large products of the reference are made by `multiplier`, where there is one; it outlives the checker.
  explicit Checker(Multiplier *multiplier = nullptr) : multiplier_(multiplier) {}

  /// Runs `plan`, a lowered schedule of `source`, once for each kind of input that its dtype allows. Where
  /// `source` has sizes, `plan` has their values. Every element is compared. A wrong result is a failed result
  /// and never an exception.
  CheckResult check(const Program &source, const kernel::Plan &plan, Executor &executor,
                    const CheckOptions &options = {});

  /// What is to compute the same as a program: it gets an array for each parameter, and overwrites the outputs.
  using Compute = std::function<Execution(std::vector<Array> &arrays, const std::vector<Scalar> &scalars)>;
  /// The same for anything that computes what `source` does, a program without sizes.
  CheckResult check(const Program &source, const Compute &compute, const CheckOptions &options = {});

private:
  struct Case {
    Inputs inputs;
    Reference expected;
    std::string skip; ///< why there is no such run, or empty
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
