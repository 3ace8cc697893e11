#pragma once
/// The computations that the rungs schedule.

#include "dsl/program.h"
#include "schedules/rung.h"

namespace nestsmith {

/// In every product below: f32, u32 (the ring) and other integers are computed as they are. With f16 or bf16
/// the operands are stored so and everything else is f32; with tf32 all is stored as f32 and the operands are
/// rounded before they are multiplied.

/// How the operands are stored: A as M x K, transposed as K x M; B as K x N, transposed as N x K; row-major.
struct Transposed {
  bool a = false, b = false;
};

/// C = alpha*A*B + beta*C with C: M x N. The product is the stage AB, C is read only where beta != 0. Throws
/// UserError(usage) unless `shape` is M, N, K, each at least 1.
Program gemm(const Shape &shape, DType dtype, Transposed transposed = {});

/// The same for each matrix of a batch: the shape is B, M, N, K, and the batch is the first dimension of each
/// operand.
Program batched_gemm(const Shape &shape, DType dtype);

/// C = relu(alpha*A*B + bias), where bias is a row of N elements: C is a pure output.
Program gemm_bias_relu(const Shape &shape, DType dtype);

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

/// The computation above whose program has this name, such as "gemm_nt", or none; `alternate` is none, which
/// has a condition. Throws UserError(usage) where the shape does not fit it.
std::optional<Program> find_workload(const std::string &name, const Shape &shape, DType dtype);

/// "1000x777x333" for messages.
std::string to_string(const Shape &shape);

} // namespace nestsmith
