#pragma once
/// Recognises known computations in an unscheduled program (contractions and GEMMs), and counts its operations.

#include "dsl/ir/program.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace nestsmith {

/// A block that computes T[p, q] = sum_k X(p, k) * Y(k, q) for all elements of T, X and Y. Each factor may be
/// rounded before the multiplication. The multiplication has two operands of f32 or of an integer type. If
/// `batch` > 1, the block computes one such product for each matrix of a batch, and the batch is the first
/// dimension of T, X and Y.
struct Contraction {
  Buffer x, y, result;
  /// Dtype of each factor after rounding: the dtype of the buffer, or tf32. A factor of i8, i16, u8 or u16 is
  /// converted to the dtype of its arithmetic.
  DType x_type = DType::f32, y_type = DType::f32;
  bool x_transposed = false; ///< stored as X[k, p]
  bool y_transposed = false; ///< stored as Y[q, k]
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
};
std::optional<Contraction> as_contraction(const Block &block);

/// C = alpha * A(M x K) * B(K x N) + beta * C. alpha, beta and the read of C may be absent.
struct Gemm {
  Contraction product;
  Buffer c;             ///< the parameter that is written
  Var alpha, beta;      ///< null alpha means 1; null beta means 1 if `reads_c`, otherwise 0
  bool reads_c = false; ///< C is an operand
};
std::optional<Gemm> as_gemm(const Program &program);

/// D = f(alpha * A * B + beta * C + bias): a GEMM whose sums get a bias and a function before they are stored,
/// as libraries offer it. Each part may be absent.
struct GemmWithEpilogue : Gemm {
  Buffer bias;       ///< one element for each column; null: none
  bool relu = false; ///< f is max(x, 0) instead of x
};
/// The results may be stored in a narrower type of floats. Every Gemm is one, without bias and f.
std::optional<GemmWithEpilogue> as_gemm_with_epilogue(const Program &program);

/// Whether the value of a floating-point expression is an input without arithmetic: an element of an input, a
/// scalar, a constant, or a conversion of one of these.
bool is_given(const Expr &e);

/// Floating-point operations by convention: 2 for each term of a reduction, or 1 for each element of the result
/// if the program has no reduction.
double operation_count(const Program &program);

/// A read of `buffer` that does not affect the result if the parameter `scalar` is 0: the read of C in beta *
/// C.
struct SwitchedRead {
  Buffer buffer;
  Var scalar;
};
std::optional<SwitchedRead> switched_read(const Program &program);

/// Whether one of the arrays has the size in its shape or its strides. Any other size is a choice of the
/// caller, such as the number of terms in a part of a sum.
bool is_of_array(const std::vector<Buffer> &arrays, const Var &size);

/// The parameters that the program writes, in parameter order.
std::vector<Buffer> written_params(const Program &program);
/// The extents of a buffer, which must be constant. A program must be specialised before execution.
std::vector<std::int64_t> constant_shape(const Buffer &buffer);

} // namespace nestsmith
