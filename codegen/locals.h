#pragma once
/// Finds the place where each local scalar of a thread is declared: at the first assignment, as in handwritten
/// code.

#include "lowering/kernel.h"

#include <map>
#include <set>

namespace nestsmith {

struct LocalScalars {
  std::set<Buffer> scalars; ///< local allocations of one element
  /// Stores that codegen prints as the declaration of the scalar.
  std::map<const kernel::Store *, Buffer> definitions;
  std::set<Buffer> constants; ///< scalars with only one store, which codegen declares `const`
};

/// A store declares its scalar if the store is in the innermost scope that contains all accesses to the scalar,
/// and precedes all other accesses. If there is no such store, the scalar is declared at the top of the kernel.
LocalScalars place_scalars(const kernel::Kernel &kernel);

} // namespace nestsmith
