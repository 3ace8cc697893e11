#include "schedules/workloads.h"

#include "dsl/error.h"
#include "dsl/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

std::string to_string(const Shape &shape) { return fmt::format("{}", fmt::join(shape, "x")); }

Program gemm(const Shape &shape, DType dtype) {
  if (shape.size() != 3)
    throw UserError(ExitCode::usage, fmt::format("a matrix product takes a shape MxNxK, got {} extents in '{}'",
                                                 shape.size(), to_string(shape)));
  Expr M = shape[0], N = shape[1], K = shape[2];
  Workload w("gemm");
  Tensor A = w.placeholder("A", {M, K}, dtype), B = w.placeholder("B", {K, N}, dtype);
  Tensor C = w.inout("C", {M, N}, dtype);
  Expr alpha = w.scalar("alpha", dtype), beta = w.scalar("beta", dtype);
  Reduce k = reduce_axis("k", K);
  Tensor AB = w.compute("AB", {M, N}, {"i", "j"}, [&](Expr i, Expr j) { return sum(A(i, k) * B(k, j), k); });
  w.update(C, {"i", "j"}, [&](const std::vector<Expr> &x) -> Definition {
    Expr i = x[0], j = x[1];
    return alpha * AB(i, j) + beta * C.where(not_equal(beta, 0), i, j);
  });
  return w.output();
}

} // namespace nestsmith
