#pragma once
/// The computations that the rungs schedule.

#include "dsl/ir/program.h"
#include "schedules/rung.h"

namespace nestsmith {

/// Dtypes of all products below: with f32, f64, u32 or another type that has arithmetic, all data have this
/// type. With f16 or bf16, only the operands have this type, and all other data, such as alpha, sums and C, are
/// f32. In the same way, all other data are i32 for operands of i8 or i16, and u32 for operands of u8 or u16.
/// With tf32, all data are stored as f32, and the operands are rounded before the multiplication.

/// The name of the size `Shape::part` of a product, which `gemm` and `linear` declare.
inline constexpr const char *size_of_part = "part";

/// C = alpha*A*B + beta*C with C: M x N. The product is the stage AB; C is read only if beta != 0. An operand
/// is transposed if `transposed` or the shape says so. Throws UserError (usage) unless `shape` is M, N, K with
/// extents of 1 or more.
Program gemm(const Shape &shape, DType dtype, Transposed transposed = {});

/// The same for each matrix of a batch. The shape is B, M, N, K, and the batch is the first dimension of each
/// operand.
Program batched_gemm(const Shape &shape, DType dtype);

/// C = relu(alpha*A*B + bias), where bias is a row of N elements. C is a pure output.
Program gemm_bias_relu(const Shape &shape, DType dtype);

/// Y = relu(A*B' + bias) in the type of the operands, with A: M x K and B: N x K, where bias is a row of N
/// elements of this type: a layer of a network. The product is the stage AB. Y is a pure output.
Program linear(const Shape &shape, DType dtype);

/// C = A*B. C is a pure output.
Program matmul(const Shape &shape, DType dtype);

/// C += A*B' with A: M x K and B: N x K, row-major: both operands are contiguous along k.
Program accumulate_nt(const Shape &shape, DType dtype);

/// y[i] = 2*x[i] + 1 if `condition(i)` holds, else 3*x[i] - 1, for a shape N. `choose` is `branch` or `select`.
Program alternate(const Shape &shape, DType dtype, const std::function<Expr(Expr)> &condition,
                  Expr (*choose)(Expr, Expr, Expr));

/// y = relu(x + 1) for a shape N. The sum is the stage t.
Program shifted_relu(const Shape &shape, DType dtype);

/// y = x after 16 steps of x -> relu(1 - x), for a shape N. All steps but the last are the stages t1 to t15.
inline constexpr int steps_of_chain = 16;
Program relu_steps(const Shape &shape, DType dtype);

/// Y = softmax of each row of X, for a shape M, N: exp(x - the largest element of the row), divided by the sum
/// of these over the row. The stages `largest`, `power` and `total` are the maximum, the exponentials and their
/// sum. X and Y have the type `dtype`, and everything between them has the type of the results above.
Program softmax(const Shape &shape, DType dtype);

/// The same with one reduction: the stage `total` has the largest element of the row and the sum of the
/// exponentials
/// (`sum_of_exp` in dsl/ir/reducer.h). Its reducer combines f32, so in u32 it is `softmax`.
Program online_softmax(const Shape &shape, DType dtype);

/// Y = (X - mean) * rsqrt(variance + 1e-5) * gamma + beta for each row of X, for a shape M, N: the layer norm.
/// The mean and the variance are those of the row, gamma and beta have N elements. The types are those of
/// `softmax`; gamma and beta have the type of X.
Program layernorm(const Shape &shape, DType dtype);
/// The same with one reduction, by Welford's method (`moments` in dsl/ir/reducer.h). Its reducer combines f32,
/// so in u32 it is `layernorm`.
Program welford_layernorm(const Shape &shape, DType dtype);

/// Y = X * rsqrt(mean square + 1e-5) * gamma for each row of X: the RMS norm, with the types of `layernorm`.
Program rmsnorm(const Shape &shape, DType dtype);

/// y[0] = the sum of the N elements of x, for a shape N.
Program vector_sum(const Shape &shape, DType dtype);

/// Y[j, i] = X[i, j] for a shape M, N, the extents of X. X and Y have the type `dtype`, or f32 for tf32.
Program transpose(const Shape &shape, DType dtype);

/// y = A*x with A: M x N and x: N elements, for a shape M, N. A and x are the operands.
Program gemv(const Shape &shape, DType dtype);

/// Y[i, j] = a weighted sum of the 3 x 3 elements of X around (i, j), for a shape M, N. Elements outside of X
/// are 0. The weights are the scalars `middle`, `side` and `corner`. X and Y have the type `dtype`.
Program stencil(const Shape &shape, DType dtype);

/// The same twice: the stage T is the stencil of X, and Y is the stencil of T.
Program stencil_twice(const Shape &shape, DType dtype);

/// A convolution: Y[n, h, w, k] = the sum over r, s < 3 and c < C of X[n, h + r - 1, w + s - 1, c]*F[r, s, c,
/// k], where pixels outside of X are 0. For a shape N, H, W, C, K: N images of H x W pixels with C channels,
/// and K channels of Y. X and F are the operands.
Program conv(const Shape &shape, DType dtype);

/// Returns the computation of this header whose program has this name, such as "gemm_nt". None for any other
/// name, and for `alternate`, because it needs a condition. Throws UserError (usage) if the computation does
/// not support the shape.
std::optional<Program> find_workload(const std::string &name, const Shape &shape, DType dtype);

/// "1000x777x333" for messages.
std::string to_string(const Shape &shape);

} // namespace nestsmith
