#pragma once
/// Integer arithmetic on data, in terms that C++ and CUDA define. dsl/expr/ops.h and dsl/expr/numbers.h define
/// the results.
///
/// - i32 and i64: `+`, `-` and `*` wrap around, but signed overflow is undefined in C++. They become unsigned
///   arithmetic: (int)((unsigned int)a + (unsigned int)b).
/// - `//` and `%` by a divisor that may be 0 or negative, or of a dividend that may be negative, become calls.
/// - Conversions from f32 to integers become calls, because C++ leaves values out of range undefined.
///
/// Operations whose values provably stay in the range of their type are not changed. So index arithmetic stays
/// signed.

#include "dsl/expr/simplify.h"

#include <string>
#include <string_view>

namespace nestsmith {

/// If `e` is an operation that changes, returns the changed operation on `operand(x)` for each operand x of
/// `e`. Otherwise, returns null.
Expr define_on_data(const Expr &e, const Bounds &bounds, FunctionRef<Expr(const Expr &)> operand);
/// The same for the first of the three groups only.
Expr wrap_on_data(const Expr &e, const Bounds &bounds, FunctionRef<Expr(const Expr &)> operand);

/// `a` op `b` in `dtype`, in terms that C++ defines for all values. The operation is one of `+`, `-`, `*` in
/// i32 or i64, or a division of integers. An i32 may be an operand of an operation in i64.
Expr defined_for_all_operands(BinaryOp op, DType dtype, const Expr &a, const Expr &b);

/// The definition of a C++ function that computes floordiv or floormod of two integers of `dtype`, for all
/// operands. `specifiers` are those of its declaration, such as "static __device__".
std::string division_text(BinaryOp op, DType dtype, std::string_view specifiers, std::string_view name);

/// Whether one of the functions that `define_on_data` calls has this name.
bool is_data_function(std::string_view name);

} // namespace nestsmith
