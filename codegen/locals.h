#pragma once
/// Where the scalars of a thread are declared: at their first assignment, as by hand.

#include "lowering/kernel.h"

#include <map>
#include <set>

namespace nestsmith {

struct LocalScalars {
  std::set<Buffer> scalars;                            ///< local allocations of one element
  std::map<const kernel::Store *, Buffer> definitions; ///< stores that are spelled as the declaration
  std::set<Buffer> constants;                          ///< defined, and never stored to again
};

/// A scalar is declared by its first store where that store runs before every other access of the
/// innermost scope that holds them all; else at the top of the kernel.
LocalScalars place_scalars(const kernel::Kernel &kernel);

} // namespace nestsmith
