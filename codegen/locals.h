#pragma once
/// Declaration points for the scalars of a thread: at the first assignment, as in handwritten code.

#include "lowering/kernel.h"

#include <map>
#include <set>

namespace nestsmith {

struct LocalScalars {
  std::set<Buffer> scalars;                            ///< local allocations of one element
  std::map<const kernel::Store *, Buffer> definitions; ///< stores that are printed as the declaration
  std::set<Buffer> constants;                          ///< defined by their only store
};

/// The first store of a scalar declares it if that store precedes every other access in the innermost scope
/// that contains all accesses. Otherwise the scalar is declared at the top of the kernel.
LocalScalars place_scalars(const kernel::Kernel &kernel);

} // namespace nestsmith
