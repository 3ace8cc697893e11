#pragma once
/// Functions of expressions. The operands and the result are all f32 or all f64; convert others with
/// cast(DType::f32, …). `abs`, `relu`, `maximum` and `minimum` also take i32 and i64. A constant takes the type
/// of the other operands, or f32. CUDA computes a function by its precise form, such as expf, without
/// fast-math; dsl/expr/math_functions.h has its documented error, which enters the error bounds of `check`. A
/// fast function of f32 calls an intrinsic function, such as __expf, with a larger error. Where a function has
/// no number, such as log of a negative one, or where its operand may be there because of roundings, an element
/// has no error bound.
///
/// *Ring mode* is a run of `check` in u32 with wrapping arithmetic. In ring mode, the value of each function is
/// a fixed hash of its operands, which does not distribute over sums or products; only `fma` is x*y + z there.
/// A schedule is wrong if it applies such a function to a partial sum, applies it twice, or scales its operand
/// afterwards. With the hash, such a schedule also changes the result in ring mode.

#include "dsl/expr/expr.h"

namespace nestsmith {

/// max(x, 0).
Expr relu(Expr x);
/// The larger and the smaller of two numbers. In ring mode, the operators `max` and `min` still compare
/// numbers, so ring mode cannot detect that a schedule applies them twice.
Expr maximum(Expr a, Expr b);
Expr minimum(Expr a, Expr b);

Expr exp(Expr x);
Expr exp2(Expr x);
Expr log(Expr x); ///< the natural logarithm
Expr log2(Expr x);
Expr sqrt(Expr x);
Expr rsqrt(Expr x); ///< 1 / sqrt(x)
Expr tanh(Expr x);
Expr erf(Expr x);
Expr sin(Expr x);
Expr cos(Expr x);
Expr abs(Expr x);
Expr floor(Expr x);
Expr fma(Expr x, Expr y, Expr z); ///< x*y + z with one rounding
Expr pow(Expr x, Expr y);

// The intrinsic functions of CUDA, such as __expf, by name. They are faster and have larger errors, which
// dsl/expr/math_functions.h lists: the bounds of `check` are those of the functions that are called.
Expr fast_exp(Expr x);         ///< __expf: 2 + floor(|1.173 x|) units in the last place
Expr fast_log(Expr x);         ///< __logf: 2^-21.41 for x from 1/2 to 2, else 3 units
Expr fast_log2(Expr x);        ///< __log2f: 2^-22 for x from 1/2 to 2, else 2 units
Expr fast_sin(Expr x);         ///< __sinf: 2^-21.41 for x from -pi to pi, else no error bound
Expr fast_cos(Expr x);         ///< __cosf: 2^-21.19 for x from -pi to pi, else no error bound
Expr fast_tanh(Expr x);        ///< __tanhf: 2^-11 of the result
Expr fast_pow(Expr x, Expr y); ///< __powf, which is exp2f(y * __log2f(x)): no error bound if x is not positive
Expr fast_divide(Expr x, Expr y); ///< __fdividef: 2 units for |y| from 2^-126 to 2^126, else no error bound

Expr sigmoid(Expr x); ///< 1 / (1 + exp(-x))
Expr silu(Expr x);    ///< x / (1 + exp(-x))
Expr gelu(Expr x);    ///< x/2 * (1 + erf(x / sqrt(2)))

/// The hash of ring mode, with a different result for each salt. `x` is u32.
Expr ring_hash(Expr x, std::uint32_t salt);
bool has_ring_hash(const Expr &e); ///< whether a hash of ring mode is a part of it

} // namespace nestsmith
