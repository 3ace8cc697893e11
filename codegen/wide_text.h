#pragma once
/// C++ text of `Wide`, the numbers in which a standalone file computes f64 on the host or the device.

#include "dsl/expr/math_functions.h"
#include "dsl/expr/ops.h"

#include <string>
#include <string_view>

namespace nestsmith {

/// `struct Wide`: a value in double-double (Dekker, Numerische Mathematik 18, 1971; Hida, Li and Bailey,
/// ARITH-15, 2001), with the terms of a bound on the error of any evaluation in f64. The bound has the form of
/// that of a Real (codegen/reference_text.h), with u = 2^-53 and one difference:
///
///     n*u / (1 - 2*n*u) * magnitude
///
/// because `magnitude`, a double, has up to n roundings itself. `roundings` is a double: an operation in f32
/// counts as 2^29.
extern const std::string_view wide_definition;
extern const std::string_view wide_negation;
/// `operator+`, `min_f64`, …; empty for an operator that has none.
std::string_view wide_operator(BinaryOp op);

/// Conversions from and to Real, for programs with both.
extern const std::string_view wide_of_real;
extern const std::string_view real_of_wide;

/// What the functions of mathematics need.
extern const std::string_view wide_functions;
/// `Wide exp_f64(const Wide &x)`, which calls `exp_of`.
std::string wide_function(const MathFunction &function);

} // namespace nestsmith
