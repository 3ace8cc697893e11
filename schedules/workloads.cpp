#include "schedules/workloads.h"

#include "dsl/error.h"
#include "dsl/math.h"
#include "dsl/tensor.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nestsmith {

std::string to_string(const Shape &shape) { return fmt::format("{}", fmt::join(shape, "x")); }

namespace {

/// As many extents as the computation has, or a refusal.
template <std::size_t n> std::array<Expr, n> extents(const Shape &shape, const char *what, const char *form) {
  if (shape.size() != n)
    throw UserError(ExitCode::usage, fmt::format("{} takes a shape {}, got {} extents in '{}'", what, form,
                                                 shape.size(), to_string(shape)));
  std::array<Expr, n> result;
  std::ranges::copy(shape, result.begin());
  return result;
}

std::array<Expr, 3> extents(const Shape &shape) { return extents<3>(shape, "a matrix product", "MxNxK"); }

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

Program alternate(const Shape &shape, DType dtype, const std::function<Expr(Expr)> &condition,
                  Expr (*choose)(Expr, Expr, Expr)) {
  auto [N] = extents<1>(shape, "a vector", "N");
  Workload w("alternate");
  Tensor x = w.placeholder("x", {N}, dtype);
  Tensor y =
      w.compute("y", {N}, {"i"}, [&](Expr i) { return choose(condition(i), x(i) * 2 + 1, x(i) * 3 - 1); });
  return w.output({y});
}

Program shifted_relu(const Shape &shape, DType dtype) {
  auto [N] = extents<1>(shape, "a vector", "N");
  Workload w("shifted_relu");
  Tensor x = w.placeholder("x", {N}, dtype);
  Tensor t = w.compute("t", {N}, {"i"}, [&](Expr i) -> Definition { return x(i) + 1; });
  Tensor y = w.compute("y", {N}, {"i"}, [&](Expr i) -> Definition { return relu(t(i)); });
  return w.output({y});
}

} // namespace nestsmith
