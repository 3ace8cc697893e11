#pragma once
/// Exhaustive test of the small world of tests/dsl/small_world.h: judges every sequence of a few directives on
/// a product of 3 x 5 x 4. Each program is interpreted. If it has no obligations, it is also lowered and
/// simulated.

#include <cstddef>
#include <string>
#include <vector>

namespace nestsmith::fuzz {

struct SmallWorld {
  std::size_t all_sequences = 0;
  std::size_t sequences = 0; ///< sequences tried
  std::size_t programs = 0;  ///< different programs that they gave
  std::size_t exact = 0;     ///< programs whose kernel gives the exact result without a diagnostic
  std::size_t owing = 0;     ///< programs that lowering refuses because of an obligation
  std::vector<std::string> faults;
};

/// Of the longest sequences, tries a random one in `one_in` only. The sample is the same in each run.
SmallWorld try_small_world(std::size_t directives, std::size_t one_in);

} // namespace nestsmith::fuzz
