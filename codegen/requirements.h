#pragma once
/// Requirements of a launch: conditions in the text of the launcher, each with a sentence.

#include "codegen/launcher.h"

#include <string>
#include <string_view>
#include <vector>

namespace nestsmith {

struct Requirement {
  std::string broken;   ///< C condition that is true if the requirement is violated: "lda < K"
  std::string sentence; ///< "lda, the leading dimension of A, must be at least K"
};

/// All requirements of a launcher. It checks `sizes` first. Then it returns if `empty` is true. Then it checks
/// `rest`.
struct Requirements {
  std::vector<Requirement> sizes;
  /// The condition under which no written array has an element, in C ("M == 0 || N == 0") and in words ("M or N
  /// is 0"). Both strings are empty if the written arrays always have elements.
  std::string empty, empty_text;
  std::vector<Requirement> rest; ///< requirements of a launch in which a written array has elements

  std::vector<Requirement> all() const;
  bool check_overlaps() const; ///< whether a condition calls the function `overlap_function`
};
Requirements requirements_of(const Launcher &launcher);

/// The definition of the function `overlap`, which conditions call.
extern const std::string_view overlap_function;

} // namespace nestsmith
