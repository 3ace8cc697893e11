#pragma once
/// The small world of tests/dsl/small_world.h, whole: every sequence of a few directives on a product of 3 x 5
/// x 4, interpreted and, where it owes nothing, lowered and simulated.

#include <cstddef>
#include <string>
#include <vector>

namespace nestsmith::fuzz {

struct SmallWorld {
  std::size_t sequences = 0; ///< that were tried
  std::size_t programs = 0;  ///< that they made, each once
  std::size_t exact = 0;     ///< of these, lowered, with the exact result and no diagnostic
  std::size_t owing = 0;     ///< of these, refused by lowering for what they owe
  std::vector<std::string> faults;
};

/// Of the schedules that the last directive is added to, each `stride`-th is taken.
SmallWorld try_small_world(std::size_t directives, std::size_t stride);

} // namespace nestsmith::fuzz
