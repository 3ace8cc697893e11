#pragma once

#include "dsl/expr/expr.h"

#include <vector>

namespace nestsmith {

/// The conditions that all must hold for `condition`, from left to right.
inline std::vector<Expr> conjuncts_of(const Expr &condition) {
  const auto *both = condition.as<Binary>();
  if (!both || both->op != BinaryOp::logical_and)
    return {condition};
  std::vector<Expr> left = conjuncts_of(both->a), right = conjuncts_of(both->b);
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

} // namespace nestsmith
