#pragma once

#include "dsl/expr/expr.h"

#include <vector>

namespace nestsmith {

/// The factors of a product, from left to right.
inline std::vector<Expr> factors_of(const Expr &e) {
  const auto *product = e.as<Binary>();
  if (!product || product->op != BinaryOp::mul)
    return {e};
  std::vector<Expr> left = factors_of(product->a), right = factors_of(product->b);
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

} // namespace nestsmith
