#pragma once
/// The comparison of one output with its reference.

#include "runtime/check/inputs.h"
#include "runtime/check/reference.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

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
  std::int64_t without_bound =
      0; ///< elements that `random` did not compare: f32 may overflow, or a divisor may be 0
  std::optional<WrongElement> first_wrong;
  std::vector<std::string> messages; ///< the first wrong elements, and diagnostics of the executor
};

/// Compares an output `got`, element by element, into `result`. `before` is the content of the array before the
/// run, and `roundings` that of the reference.
void compare_output(const ReferenceOutput &expected, const Array &before, const Array &got,
                    std::int64_t roundings, RunResult &result);

/// Adds the number of wrong elements to the messages if they do not list all of them.
void count_wrong(RunResult &result);

} // namespace nestsmith
