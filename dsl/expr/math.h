#pragma once
/// Functions that are not ring operations. *Ring mode* is a run of `check` in u32 with wrapping arithmetic. In
/// ring mode, the value of each function is a fixed hash of its operands, which does not distribute over sums
/// or products. A schedule is wrong if it applies such a function to a partial sum, applies it twice, or scales
/// its operand afterwards. With the hash, such a schedule also changes the result in ring mode.

#include "dsl/expr/expr.h"

namespace nestsmith {

/// max(x, 0).
Expr relu(Expr x);
/// The larger and the smaller of two numbers. In ring mode, the operators `max` and `min` still compare
/// numbers, so ring mode cannot detect that a schedule applies them twice.
Expr maximum(Expr a, Expr b);
Expr minimum(Expr a, Expr b);

} // namespace nestsmith
