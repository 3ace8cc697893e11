#pragma once
/// The program that the tests of the reference and of the check execute.

#include "dsl/ir/tensor.h"

namespace nestsmith::test {

/// C = alpha * A * B + beta * C. C is read only if beta is not 0, unless `masked` is false.
inline Program checked_gemm(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype = DType::f32,
                            bool masked = true) {
  Workload w("gemm");
  Tensor a = w.placeholder("A", {m, k}, dtype), b = w.placeholder("B", {k, n}, dtype);
  Tensor c = w.inout("C", {m, n}, dtype);
  Expr alpha = w.scalar("alpha", dtype), beta = w.scalar("beta", dtype);
  Reduce r = reduce_axis("k", k);
  Tensor ab = w.compute("AB", {m, n}, {"i", "j"}, [&](Expr i, Expr j) { return sum(a(i, r) * b(r, j), r); });
  w.update(c, {"i", "j"}, [&](const std::vector<Expr> &x) {
    Expr old = masked ? c.where(not_equal(beta, constant(dtype, 0)), x[0], x[1]) : c(x[0], x[1]);
    return alpha * ab(x[0], x[1]) + beta * old;
  });
  return w.output();
}

} // namespace nestsmith::test
