#pragma once
/// From a schedule that breaks a promise to a short one that still does.

#include "tests/fuzz/judge.h"

#include <cstdint>
#include <string>

namespace nestsmith::fuzz {

/// The verdict on a case, found in a process of its own.
Verdict judge_apart(const Case &test_case, const Thoroughness &thoroughness);

/// The schedule that `draft` makes of the arguments, as far as it came, with the directive that it ended at,
/// should it crash or hang.
Case draft_apart(std::uint64_t seed, std::uint64_t computations);

/// Drops directives, and makes extents and numbers smaller and types plainer, as long as the verdict is of the
/// same kind. What is replayed is tried a few hundred times at most.
Case shrink(Case test_case, Kind kind, const Thoroughness &thoroughness);

/// The case as C++, for a reader.
std::string to_cpp(const Case &test_case);

} // namespace nestsmith::fuzz
