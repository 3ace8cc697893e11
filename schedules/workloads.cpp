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

/// The types of a product that is asked for in `dtype`.
DType operand_type(DType dtype) { return dtype == DType::tf32 ? DType::f32 : dtype; }
DType result_type(DType dtype) { return is_float(dtype) ? DType::f32 : dtype; }

/// An element of an operand as it is multiplied.
Expr factor(DType dtype, Expr element) {
  if (dtype == DType::tf32)
    element = cast(dtype, std::move(element));
  return is_float(dtype) ? cast(DType::f32, std::move(element)) : element;
}

/// The operands of a product and the sum over k of an element of it, AB(i, j).
class Product {
public:
  Product(Workload &w, DType dtype, const Expr &M, const Expr &N, const Expr &K, Stored stored = {})
      : A_(w.placeholder("A", stored.a_transposed ? std::vector{K, M} : std::vector{M, K},
                         operand_type(dtype))),
        B_(w.placeholder("B", stored.b_transposed ? std::vector{N, K} : std::vector{K, N},
                         operand_type(dtype))),
        k_(reduce_axis("k", K)), dtype_(dtype), stored_(stored) {}

  Definition operator()(const Expr &i, const Expr &j) const {
    Expr a = stored_.a_transposed ? A_(k_, i) : A_(i, k_), b = stored_.b_transposed ? B_(j, k_) : B_(k_, j);
    return sum(factor(dtype_, a) * factor(dtype_, b), k_);
  }

private:
  Tensor A_, B_;
  Reduce k_;
  DType dtype_;
  Stored stored_;
};

} // namespace

Program gemm(const Shape &shape, DType dtype, Stored stored) {
  auto [M, N, K] = extents(shape);
  std::string name = "gemm";
  if (stored.a_transposed || stored.b_transposed)
    name += std::string("_") + (stored.a_transposed ? "t" : "n") + (stored.b_transposed ? "t" : "n");
  Workload w(name);
  Product product(w, dtype, M, N, K, stored);
  DType result = result_type(dtype);
  Tensor C = w.inout("C", {M, N}, result);
  Expr alpha = w.scalar("alpha", result), beta = w.scalar("beta", result);
  Tensor AB = w.compute("AB", {M, N}, {"i", "j"}, product);
  w.update(C, {"i", "j"}, [&](const std::vector<Expr> &x) -> Definition {
    Expr i = x[0], j = x[1];
    return alpha * AB(i, j) + beta * C.where(not_equal(beta, 0), i, j);
  });
  return w.output();
}

Program batched_gemm(const Shape &shape, DType dtype) {
  auto [B, M, N, K] = extents<4>(shape, "a batch of matrix products", "BxMxNxK");
  Workload w("batched_gemm");
  Tensor left = w.placeholder("A", {B, M, K}, operand_type(dtype));
  Tensor right = w.placeholder("B", {B, K, N}, operand_type(dtype));
  DType result = result_type(dtype);
  Tensor C = w.inout("C", {B, M, N}, result);
  Expr alpha = w.scalar("alpha", result), beta = w.scalar("beta", result);
  Reduce k = reduce_axis("k", K);
  Tensor AB = w.compute("AB", {B, M, N}, {"b", "i", "j"}, [&](Expr b, Expr i, Expr j) {
    return sum(factor(dtype, left(b, i, k)) * factor(dtype, right(b, k, j)), k);
  });
  w.update(C, {"b", "i", "j"}, [&](const std::vector<Expr> &x) -> Definition {
    return alpha * AB(x[0], x[1], x[2]) + beta * C.where(not_equal(beta, 0), x[0], x[1], x[2]);
  });
  return w.output();
}

Program gemm_bias_relu(const Shape &shape, DType dtype) {
  auto [M, N, K] = extents(shape);
  Workload w("gemm_bias_relu");
  Product product(w, dtype, M, N, K);
  DType result = result_type(dtype);
  Tensor bias = w.placeholder("bias", {N}, result);
  Expr alpha = w.scalar("alpha", result);
  Tensor AB = w.compute("AB", {M, N}, {"i", "j"}, product);
  Tensor C =
      w.compute("C", {M, N}, {"i", "j"}, [&](Expr i, Expr j) { return relu(alpha * AB(i, j) + bias(j)); });
  return w.output({C});
}

Program matmul(const Shape &shape, DType dtype) {
  auto [M, N, K] = extents(shape);
  Workload w("matmul");
  Product product(w, dtype, M, N, K);
  return w.output({w.compute("C", {M, N}, {"i", "j"}, product)});
}

Program accumulate_nt(const Shape &shape, DType dtype) {
  auto [M, N, K] = extents(shape);
  Workload w("accumulate_nt");
  Product product(w, dtype, M, N, K, {.b_transposed = true});
  Tensor C = w.inout("C", {M, N}, result_type(dtype));
  Tensor AB = w.compute("AB", {M, N}, {"i", "j"}, product);
  w.update(C, {"i", "j"},
           [&](const std::vector<Expr> &x) -> Definition { return C(x[0], x[1]) + AB(x[0], x[1]); });
  return w.output();
}

Program alternate(const Shape &shape, DType dtype, const std::function<Expr(Expr)> &condition,
                  Expr (*choose)(Expr, Expr, Expr)) {
  auto [N] = extents<1>(shape, "a vector", "N");
  Workload w("alternate");
  Tensor x = w.placeholder("x", {N}, operand_type(dtype));
  Tensor y = w.compute("y", {N}, {"i"}, [&](Expr i) {
    Expr value = factor(dtype, x(i));
    return choose(condition(i), value * 2 + 1, value * 3 - 1);
  });
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
