#pragma once
/// Recognises known computations in an unscheduled program: a contraction, a GEMM, and the operations for a
/// rate.

#include "dsl/program.h"

#include <cstdint>
#include <optional>

namespace nestsmith {

/// A block that computes T[p, q] = sum_k X(p, k) * Y(k, q) over the whole of T, X and Y. Each factor may be
/// rounded first, and the product is of two f32 or of two integers. With `batch` > 1 it computes one such
/// product for each matrix; the batch is the first dimension of all three.
struct Contraction {
  Buffer x, y, result;
  DType x_type = DType::f32, y_type = DType::f32; ///< of the rounded factors: the buffer's dtype, or tf32
  bool x_transposed = false;                      ///< stored as X[k, p]
  bool y_transposed = false;                      ///< stored as Y[q, k]
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
};
std::optional<Contraction> as_contraction(const Block &block);

/// C = alpha * A(M x K) * B(K x N) + beta * C. Every part of the epilogue may be absent.
struct Gemm {
  Contraction product;
  Buffer c;             ///< the parameter that is written
  Var alpha, beta;      ///< null alpha: 1; null beta: 1 if `reads_c`, else 0
  bool reads_c = false; ///< C is an operand
};
std::optional<Gemm> as_gemm(const Program &program);

/// Whether the value of a float is given and not computed: an element of an input, a scalar, a constant, or a
/// conversion of one of these.
bool is_given(const Expr &e);

/// Floating-point operations by convention: 2 for each term of a reduction, or 1 for each element of the result
/// if the program has no reduction.
double operation_count(const Program &program);

/// A read of `buffer` whose value does not matter if a scalar parameter is 0: C in beta * C.
struct SwitchedRead {
  Buffer buffer;
  Var scalar;
};
std::optional<SwitchedRead> switched_read(const Program &program);

/// The parameters that the program writes, in parameter order.
std::vector<Buffer> written_params(const Program &program);
/// The extents of a buffer, which must be constant. A program must be specialised before execution.
std::vector<std::int64_t> constant_shape(const Buffer &buffer);

} // namespace nestsmith
