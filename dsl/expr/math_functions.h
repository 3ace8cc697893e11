#pragma once
/// The functions of mathematics that expressions may call: one row for each. The constructors
/// (dsl/expr/math.h), traces, the interpreter, the simulator, the reference with its error bounds, and both
/// texts read the row, so a new function is a new row and its constructor.
///
/// The operands and the result are all f32 or all f64. The error is the maximum that the CUDA C++ Programming
/// Guide states ("Mathematical Functions", tables "Single-Precision" and "Double-Precision Mathematical
/// Standard Library Functions with Maximum ULP Error"), where editions differ the larger one, without
/// --use_fast_math. NVIDIA states that these bounds are from extensive, but not exhaustive, tests.
///
/// The *fast functions*, such as fast_exp, are intrinsic functions of CUDA for f32 with a larger error, which
/// the same appendix states in the table "Single-Precision Floating-Point Intrinsic Functions". The error
/// depends on the operands. Where the guide states none, such as for __sinf beyond pi, an element has no error
/// bound. CUDA has no intrinsic function for exp2, sqrt, rsqrt and erf with a documented error of its own.

#include "dsl/expr/expr.h"

#include <limits>
#include <span>
#include <string_view>

namespace nestsmith {

/// How the error of the operands reaches the result.
enum class ErrorRule : std::uint8_t {
  monotone,    ///< one operand: the error is largest at an end of its interval
  slope_one,   ///< one operand: the result changes by no more than the operand
  product_sum, ///< x*y + z
  power,    ///< x^y: the error is largest at a corner if x is positive, or if y is a whole number and x not 0
  quotient, ///< x / y
};

/// The value of a function in a type that is wider than its result: double for f32, and long double, which has
/// at least 64 bits of mantissa, for f64. Operands that the function does not have are 0.
struct ValueOfFunction {
  double (*in_double)(double, double, double) = {};
  long double (*in_long_double)(long double, long double, long double) = {};

  constexpr ValueOfFunction() = default;
  /// `f` takes three numbers of one type.
  template <class F> constexpr ValueOfFunction(F f) : in_double(f), in_long_double(f) {}
  double operator()(double x, double y, double z) const { return in_double(x, y, z); }
  long double operator()(long double x, long double y, long double z) const { return in_long_double(x, y, z); }
};
static_assert(std::numeric_limits<long double>::digits >= 64,
              "the reference of functions in f64 needs a wider type than double");

struct MathFunction {
  std::string_view name; ///< in expressions and traces; in CUDA C++ in double, if `in_cpp` is empty
  int operands = 1;
  std::string_view cuda;          ///< the precise function of CUDA for f32
  std::string_view cuda_f64 = {}; ///< the same for f64; empty: `name`
  ValueOfFunction value = {};
  std::string_view in_cpp = {}; ///< the value in double as C++ text of x, y and z
  int ulps = 0;                 ///< distance to the correctly rounded result in f32
  int ulps_f64 = 0;             ///< and in f64
  ErrorRule error = ErrorRule::monotone;
  /// The bits after the binary point of the result for operands with so many; null if most results are rounded.
  int (*fraction_bits)(int, int, int) = nullptr;
  /// Of a fast function, in the place of `ulps`: the distance to the correctly rounded result, for the operands
  /// x and y and their result v in double. Infinite where CUDA states none.
  double (*own_error)(double x, double y, double v) = nullptr;
  std::string_view own_error_in_cpp = {}; ///< the same as C++ text of x, y and v

  /// The precise function of CUDA for f32 or f64.
  constexpr std::string_view cuda_in(DType type) const {
    return type != DType::f64 ? cuda : cuda_f64.empty() ? name : cuda_f64;
  }
};

/// All rows.
std::span<const MathFunction> math_functions();
/// The row of this name, or null.
const MathFunction *find_math_function(std::string_view name);
/// The position of a row in `math_functions()`.
std::size_t index_of(const MathFunction &function);
/// The function that an expression of f32 or f64 calls.
const Function &function_of(const MathFunction &function, DType type);
/// The row of a call; null for a function of kernels only.
const MathFunction *math_function(const Expr &e);

/// The result in f32, correctly rounded up to the double rounding of rare ties.
float evaluate(const MathFunction &function, float x, float y = 0, float z = 0);
/// The same in f64, as the C++ library computes it in double.
double evaluate(const MathFunction &function, double x, double y = 0, double z = 0);

/// Throws UserError (usage): "exp takes f32 or f64, got i32; convert the operand with cast(DType::f32, …)".
[[noreturn]] void refuse_type(std::string_view function, DType got);

/// The call on f32 or f64. A constant takes that type. In ring mode (u32), the result is a fixed hash of the
/// operands, different for each function; but fma is x*y + z. Throws UserError (usage) for other operands.
Expr call_math(const MathFunction &function, std::vector<Expr> operands);

} // namespace nestsmith
