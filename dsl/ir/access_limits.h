#pragma once
/// Relations between sizes that the accesses of a computation need.
///
///   Y[i, j] = X[i, j], where j < N and X has the shape [M, L]: N <= L

#include "dsl/ir/program.h"

#include <vector>

namespace nestsmith {

/// A condition on sizes, `least <= value`. If it holds, a block is inside of one dimension of a tensor that it
/// reads.
struct AccessLimit {
  Expr holds; ///< the condition, without `min` and `max`
  Expr least, value;
  std::string what; ///< name of `value` in a diagnostic: "the extent of X in dimension 1"
};

/// The conditions under which no read of a computation is out of bounds, without those that hold for all stated
/// sizes, and without duplicates. `source` is a computation without directives (`Schedule::source`). Data, such
/// as a loaded index, has no condition: its values are the caller's responsibility. Likewise, an index has no
/// condition if the mask has data that depend on an axis of the index.
///
/// A computation without sizes has no condition: its reads are evaluated, apart from very large expressions.
///
/// Throws UserError (usage) if a read is out of bounds for all sizes, or if the greatest value of an index is
/// no expression of sizes, so that no launcher could check it.
std::vector<AccessLimit> access_limits(const Program &source);

} // namespace nestsmith
