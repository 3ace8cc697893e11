#pragma once
/// Requirements of a launch: conditions in the text of the launcher, each with a sentence.

#include "codegen/launcher.h"

#include <string>
#include <vector>

namespace nestsmith {

struct Requirement {
  std::string broken;   ///< the condition of a violation, in C: "lda < K"
  std::string sentence; ///< "lda, the leading dimension of A, must be at least K"
};

/// The requirements in the order of the checks: sizes, then whether there is anything to compute, then the
/// rest.
struct Requirements {
  std::vector<Requirement> sizes;
  /// The condition under which no written array has an element, in C ("M == 0 || N == 0") and in words ("M or N
  /// is 0"). Both are empty if that is impossible.
  std::string empty, empty_text;
  std::vector<Requirement> rest; ///< requirements of a launch with something to compute

  std::vector<Requirement> all() const;
};
Requirements requirements_of(const Launcher &launcher);

} // namespace nestsmith
