#pragma once
/// Integer arithmetic on data, in terms that C++ and CUDA define. dsl/expr/ops.h and dsl/expr/numbers.h define
/// the results.
///
/// - i32 and i64: `+`, `-` and `*` wrap around, but signed overflow is undefined in C++. They become unsigned
///   arithmetic: (int)((unsigned int)a + (unsigned int)b).
/// - `<<` of i32 and i64 becomes that of the unsigned type where a number may be negative or drop bits.
/// - `//` and `%` by a divisor that may be 0 or negative, or of a dividend that may be negative, become calls.
/// - Shifts by an amount that may be negative, or the width of the type or more, become calls.
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
/// The same for the first two groups only.
Expr wrap_on_data(const Expr &e, const Bounds &bounds, FunctionRef<Expr(const Expr &)> operand);

/// `a` op `b` in `dtype`, in terms that C++ defines for all values. The operation is one of `+`, `-`, `*` in
/// i32 or i64, a division of integers, or a shift, whose amount is in the range of C++ if `shifts_within`. An
/// i32 may be an operand of an operation in i64.
Expr defined_for_all_operands(BinaryOp op, DType dtype, const Expr &a, const Expr &b,
                              bool shifts_within = false);

/// Whether these are the values of an amount by which C++ shifts a number of `dtype`.
bool shifts_within_width(DType dtype, const std::optional<Range> &amount);
/// Whether C++ defines `<<` in i32 or i64: neither operand is negative, and no bit is dropped.
bool shifts_left_plainly(DType dtype, std::optional<Range> shifted, const std::optional<Range> &amount);

/// The type in which a left shift of this type is computed.
constexpr DType unsigned_type(DType dtype) {
  return dtype == DType::i32 ? DType::u32 : dtype == DType::i64 ? DType::u64 : dtype;
}

/// The definition of a C++ function that computes floordiv, floormod or a shift of two integers of `dtype`, for
/// all operands. Left shifts have unsigned types. `specifiers` are those of its declaration, such as "static
/// __device__".
std::string operation_text(BinaryOp op, DType dtype, std::string_view specifiers, std::string_view name);

/// Whether one of the functions that `define_on_data` calls has this name.
bool is_data_function(std::string_view name);

} // namespace nestsmith
