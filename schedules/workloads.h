#pragma once
/// The computations that the rungs schedule.

#include "dsl/program.h"
#include "schedules/rung.h"

namespace nestsmith {

/// C = alpha*A*B + beta*C with A: M x K, B: K x N, C: M x N, row-major. The product is the stage AB, C is
/// read only where beta != 0. Throws UserError(usage) unless `shape` is M, N, K, each at least 1.
Program gemm(const Shape &shape, DType dtype);

/// C = A*B, with nothing else: C is a pure output.
Program matmul(const Shape &shape, DType dtype);

/// C += A*B' with A: M x K, B: N x K, row-major: both operands are read along k.
Program accumulate_nt(const Shape &shape, DType dtype);

/// y[i] = 2*x[i] + 1 where `condition(i)` holds, 3*x[i] - 1 elsewhere, for a shape N; `choose` is `branch`
/// or `select`.
Program alternate(const Shape &shape, DType dtype, const std::function<Expr(Expr)> &condition,
                  Expr (*choose)(Expr, Expr, Expr));

/// y = relu(x + 1) for a shape N. The sum is the stage t.
Program shifted_relu(const Shape &shape, DType dtype);

/// "1000x777x333" for messages.
std::string to_string(const Shape &shape);

} // namespace nestsmith
