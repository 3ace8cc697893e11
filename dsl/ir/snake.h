#pragma once
/// Loops that run backwards in odd iterations of a loop around them (dsl/schedule/primitives/snake.h).

#include "dsl/ir/program.h"

#include <optional>
#include <string>
#include <vector>

namespace nestsmith {

/// A violated requirement of a snake.
struct SnakeBreach {
  const char *requirement; ///< tag of a `Requires` line of dsl/schedule/primitives/snake.h
  std::string message;
  std::vector<std::string> culprits; ///< names of the loops and blocks to underline
};

/// Checks all loops whose direction depends on an outer loop, and returns the first breach. A loop that stands
/// in `checked`, a program without a breach, below the same loops, has none.
std::optional<SnakeBreach> find_snake_breach(const Program &program, const Program *checked = nullptr);

} // namespace nestsmith
