#pragma once
/// Functions other than ring operations. In ring mode (u32) each is a fixed hash of its operands, which
/// distributes over neither sums nor products. A schedule that applies one to a partial sum, applies it twice,
/// or scales its operand later therefore changes the bits, as it would change the result in floating point.

#include "dsl/expr.h"

namespace nestsmith {

/// max(x, 0).
Expr relu(Expr x);
/// The larger and the smaller of two numbers. `max` and `min` are the plain operators; on u32 they compare, and
/// so cannot reveal a repeated application.
Expr maximum(Expr a, Expr b);
Expr minimum(Expr a, Expr b);

} // namespace nestsmith
