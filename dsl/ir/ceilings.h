#pragma once
/// Upper bounds of sums of loop variables under conditions on other sums of them.

#include "dsl/expr/simplify.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace nestsmith {

/// A condition: the value of the sum is at most `most`.
struct Ceiling {
  Linear sum;
  std::int64_t most;
};

/// A number that the sum does not exceed while all conditions hold; none if the rules prove no bound.
std::optional<std::int64_t> highest_below(const Linear &sum, const std::vector<Ceiling> &ceilings,
                                          const Bounds &bounds);

} // namespace nestsmith
