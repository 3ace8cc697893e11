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

/// How many elements of an output a run compared.
struct ComparedOutput {
  std::string buffer;
  std::int64_t elements = 0;
  std::int64_t compared = 0;
  bool in_full() const { return compared == elements; }
};

/// The result of one run.
struct RunResult {
  CheckRun run = CheckRun::random;
  std::string label; ///< "floating point", "beta = 0, C full of NaN"
  bool passed = false;
  bool exact = true;               ///< every element was compared bit for bit
  double max_error = 0;            ///< largest |got - expected|
  double max_error_over_bound = 0; ///< the run passes if this is at most 1
  std::vector<std::int64_t> where; ///< index of the element with the largest error over its bound
  std::int64_t wrong_elements = 0;
  std::int64_t without_bound = 0; ///< elements that were not compared: they have no error bound
  std::int64_t wide_bound = 0;    ///< elements with a bound that tells nothing (`UsefulBound`)
  std::vector<ComparedOutput> outputs = {};
  std::optional<WrongElement> first_wrong;
  std::vector<std::string> messages; ///< the first wrong elements, and diagnostics of the executor
};

/// Whether the bound of an element is narrow enough to tell a right value from a wrong one: at most half of the
/// largest element, or 2^-11 of the largest operand. The values of an integer that depends on roundings must be
/// fewer than those of the output.
class UsefulBound {
public:
  explicit UsefulBound(const ReferenceOutput &expected);
  bool operator()(std::int64_t position) const;
  /// The number of elements with a useful bound.
  std::int64_t count() const;

private:
  const ReferenceOutput &expected_;
  double widest_ = 0; ///< the widest useful bound; of an integer, the first that is not useful
};

/// Compares an output `got`, element by element, into `result`: within the error bound of the element, and bit
/// for bit where it is 0. `before` is the content of the array before the run.
void compare_output(const ReferenceOutput &expected, const Array &before, const Array &got, RunResult &result);

/// Adds the number of wrong elements to the messages if they do not list all of them.
void count_wrong(RunResult &result);

} // namespace nestsmith
