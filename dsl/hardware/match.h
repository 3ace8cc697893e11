#pragma once
/// Compares a nest of a program or of a kernel with the meaning of an intrinsic.

#include "dsl/expr/simplify.h"
#include "dsl/ir/intrinsic.h"

#include <map>
#include <optional>
#include <vector>

namespace nestsmith {

/// The loops of the nest below `loop` that have more than one iteration, and the store of its block, in terms
/// of the loops. None if the loops below `loop` are not serial, or if there are several blocks.
std::optional<Nest> nest_below(const For &loop, const Bounds &bounds);

/// The first place where a nest and a meaning differ: operands of different kinds, dtypes or operators, or an
/// operand that depends on a loop on which it must not depend.
struct Difference {
  Expr got, expected;
};

struct Match {
  /// For each formal buffer: the expression that stands for its element, in terms of the loops of the nest. A
  /// load, unless the operand is by value.
  std::map<Buffer, Expr> operands;
  /// For each loop of the meaning: the loop of the nest.
  std::map<Var, Var> loops;
};
/// Matches the nest with the meaning. The loops may be in another order, except that the loops over which the
/// meaning sums keep theirs, so that the sums are rounded in the same order. The factors of all products may be
/// in the other order, which does not change a product. If the nest does not match, returns none, and sets
/// `difference`, unless it is null, to the first difference from the left. If several orders of the loops have
/// the right extents, this is the difference of the order that matches the most.
std::optional<Match> match(const Intrinsic &intrinsic, const Nest &nest, const Bounds &bounds,
                           Difference *difference = nullptr);

/// The loops of the nest that stand for the indices of the operand.
std::vector<Expr> loops_of(const Intrinsic &intrinsic, const Match &match, const Operand &operand);

} // namespace nestsmith
