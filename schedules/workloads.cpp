#include "schedules/workloads.h"

#include "dsl/error.h"
#include "dsl/tensor.h"

#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

std::string to_string(const Shape &shape) { return fmt::format("{}", fmt::join(shape, "x")); }

namespace {

/// M, N, K, or a refusal.
std::array<Expr, 3> extents(const Shape &shape) {
  if (shape.size() != 3)
    throw UserError(ExitCode::usage, fmt::format("a matrix product takes a shape MxNxK, got {} extents in '{}'",
                                                 shape.size(), to_string(shape)));
  return {shape[0], shape[1], shape[2]};
}

} // namespace

Program gemm(const Shape &shape, DType dtype) {
  auto [M, N, K] = extents(shape);
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

Program matmul(const Shape &shape, DType dtype) {
  auto [M, N, K] = extents(shape);
  Workload w("matmul");
  Tensor A = w.placeholder("A", {M, K}, dtype), B = w.placeholder("B", {K, N}, dtype);
  Reduce k = reduce_axis("k", K);
  Tensor C = w.compute("C", {M, N}, {"i", "j"}, [&](Expr i, Expr j) { return sum(A(i, k) * B(k, j), k); });
  return w.output({C});
}

Program accumulate_nt(const Shape &shape, DType dtype) {
  auto [M, N, K] = extents(shape);
  Workload w("accumulate_nt");
  Tensor A = w.placeholder("A", {M, K}, dtype), B = w.placeholder("B", {N, K}, dtype);
  Tensor C = w.inout("C", {M, N}, dtype);
  Reduce k = reduce_axis("k", K);
  Tensor AB = w.compute("AB", {M, N}, {"i", "j"}, [&](Expr i, Expr j) { return sum(A(i, k) * B(j, k), k); });
  w.update(C, {"i", "j"},
           [&](const std::vector<Expr> &x) -> Definition { return C(x[0], x[1]) + AB(x[0], x[1]); });
  return w.output();
}

} // namespace nestsmith
