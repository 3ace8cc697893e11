#pragma once
/// Requirements of a launch: conditions in the text of a launcher, each with a sentence.

#include "codegen/launcher.h"

#include <string>
#include <vector>

namespace nestsmith {

struct Requirement {
  std::string broken;   ///< where it is not met, in C: "lda < K"
  std::string sentence; ///< "lda, the leading dimension of A, must be at least K"
};

/// In the order in which they are checked: sizes, then whether there is anything to compute, then the rest.
struct Requirements {
  std::vector<Requirement> sizes;
  /// Where no written array has an element, in C ("M == 0 || N == 0") and in words ("M or N is 0"). Both are
  /// empty where that cannot be.
  std::string empty, empty_text;
  std::vector<Requirement> rest; ///< of a launch that computes something

  std::vector<Requirement> all() const;
};
Requirements requirements_of(const Launcher &launcher);

} // namespace nestsmith
