#pragma once
/// Shrinks a schedule that breaks a promise to a short one that breaks it, too.

#include "tests/fuzz/judge.h"

#include <cstdint>
#include <string>

namespace nestsmith::fuzz {

/// Judges a case in a child process.
Verdict judge_apart(const Case &test_case, const Thoroughness &thoroughness);

/// Returns the case that `draft` makes of these arguments. If `draft` crashes or hangs, the case ends with the
/// directive that it was about to apply.
Case draft_apart(std::uint64_t seed, std::uint64_t computations, const std::string &arch = {});

/// Removes directives, makes extents and numbers smaller, and makes types simpler, as long as the kind of the
/// verdict is unchanged. Judges 400 cases at most.
Case shrink(Case test_case, Kind kind, const Thoroughness &thoroughness);

/// Returns the case as C++ text for a reader.
std::string to_cpp(const Case &test_case);

} // namespace nestsmith::fuzz
