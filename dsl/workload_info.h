#pragma once
/// What an unscheduled program computes, where it is something that the rest of the runtime knows by
/// name: a contraction, a whole GEMM, the operations that a rate is quoted in.

#include "dsl/program.h"

#include <cstdint>
#include <optional>

namespace nestsmith {

/// A block that computes T[p, q] = sum_k X(p, k) * Y(k, q) over the whole of T, X and Y, where each factor may
/// be rounded first and the product is of two f32 or of two integers; or one such product for each matrix of a
/// batch, which is the first dimension of all three.
struct Contraction {
  Buffer x, y, result;
  DType x_type = DType::f32, y_type = DType::f32; ///< of the factors once rounded: their buffer's, or tf32
  bool x_transposed = false;                      ///< stored as X[k, p]
  bool y_transposed = false;                      ///< stored as Y[q, k]
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
};
std::optional<Contraction> as_contraction(const Block &block);

/// C = alpha * A(M x K) * B(K x N) + beta * C, where every part of the epilogue may be absent.
struct Gemm {
  Contraction product;
  Buffer c;             ///< the parameter that is written
  Var alpha, beta;      ///< null: 1, and 1 or 0 by:
  bool reads_c = false; ///< there is a summand of C
};
std::optional<Gemm> as_gemm(const Program &program);

/// Whether a float's value was given and not computed: an element of an input, a scalar, a constant, or one
/// of these converted.
bool is_given(const Expr &e);

/// Floating-point operations by convention: 2 for each term of a reduction, 1 for each element of the
/// result where the program has no reduction.
double operation_count(const Program &program);

/// A read of `buffer` that a scalar parameter switches off where it is 0: beta, in beta * C.
struct SwitchedRead {
  Buffer buffer;
  Var scalar;
};
std::optional<SwitchedRead> switched_read(const Program &program);

/// Parameters that the program writes, in parameter order.
std::vector<Buffer> written_params(const Program &program);
/// The constant extents of a buffer. Programs that run have no symbolic ones.
std::vector<std::int64_t> constant_shape(const Buffer &buffer);

} // namespace nestsmith
