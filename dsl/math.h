#pragma once
/// Functions that are no ring operations. In ring mode (u32) each is a fixed hash of its operands, which
/// commutes neither with sums nor with products: a schedule that applies one to a partial sum, twice, or
/// to what is scaled later gives other bits, as it would give another number in floating point.

#include "dsl/expr.h"

namespace nestsmith {

/// max(x, 0).
Expr relu(Expr x);
/// The larger and the smaller of two numbers. (`max` and `min` are the operators themselves, which on u32
/// compare and so keep what is already in order.)
Expr maximum(Expr a, Expr b);
Expr minimum(Expr a, Expr b);

} // namespace nestsmith
