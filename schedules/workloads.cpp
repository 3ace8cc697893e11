#include "schedules/workloads.h"

#include "dsl/expr/error.h"
#include "dsl/expr/math.h"
#include "dsl/ir/tensor.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <numeric>

namespace nestsmith {

std::string to_string(const Shape &shape) { return fmt::format("{}", fmt::join(shape, "x")); }

namespace {

/// The extents of the shape. Refuses a shape with a wrong number of them. The extents of a symbolic shape are
/// sizes with these names.
template <std::size_t n>
std::array<Expr, n> extents(Workload &w, const Shape &shape, const char *what, const char *form,
                            const std::array<const char *, n> &names) {
  if (shape.size() != n)
    throw UserError(ExitCode::usage, fmt::format("{} takes a shape {}, got {} extents in '{}'", what, form,
                                                 shape.size(), to_string(shape)));
  std::array<Expr, n> result;
  for (std::size_t d = 0; d < n; ++d) {
    Size stated = shape.stated.value_or(Size{});
    if (shape.stated)
      stated.multiple_of = shape.known(d);
    if ((n == 4 && d == 0) || (n == 5 && d < 2))
      stated.multiple_of = 1; // a batch may have any size, and images any height
    result[d] = shape.stated ? w.size(names[d], stated) : Expr(shape[d]);
  }
  return result;
}

std::array<Expr, 3> extents(Workload &w, const Shape &shape) {
  return extents<3>(w, shape, "a matrix product", "MxNxK", {"M", "N", "K"});
}

/// The rows of a matrix. They have a leading dimension if the shape is symbolic. It is a multiple of the number
/// of which the length of a row is one, and of `Shape::row_multiple`.
Stored rows(Workload &w, const Shape &shape, const char *name,
            const std::optional<Expr> &length = std::nullopt) {
  if (!shape.stated)
    return {Expr()};
  Size stated = *shape.stated;
  if (const Var *size = length ? length->as<Var>() : nullptr)
    stated.multiple_of = (*size)->size->multiple_of;
  stated.multiple_of = std::lcm(stated.multiple_of, shape.row_multiple);
  return {w.size(name, stated)};
}

/// Declares the size `Shape::part`, if the shape has it.
void declare_part(Workload &w, const Shape &shape) {
  if (shape.part)
    w.size(size_of_part, *shape.part);
}

/// The operand and result types of a product in `dtype`.
DType operand_type(DType dtype) { return dtype == DType::tf32 ? DType::f32 : dtype; }
DType result_type(DType dtype) { return arithmetic_type(dtype); }

/// An element of an operand, converted for the multiplication.
Expr factor(DType dtype, Expr element) {
  if (dtype == DType::tf32)
    element = cast(dtype, std::move(element));
  return cast(result_type(dtype), std::move(element));
}

/// The operands A and B of a matrix product. AB(i, j) returns the sum over k that computes one element.
class Product {
public:
  /// `MNK` holds the extents.
  Product(Workload &w, const Shape &shape, DType dtype, const std::array<Expr, 3> &MNK,
          Transposed transposed = {})
      : A_(operand(w, shape, dtype, "A", {MNK[0], MNK[2]}, transposed.a)),
        B_(operand(w, shape, dtype, "B", {MNK[2], MNK[1]}, transposed.b)), k_(reduce_axis("k", MNK[2])),
        dtype_(dtype), transposed_(transposed) {}

  Definition operator()(const Expr &i, const Expr &j) const {
    Expr a = transposed_.a ? A_(k_, i) : A_(i, k_), b = transposed_.b ? B_(j, k_) : B_(k_, j);
    return sum(factor(dtype_, a) * factor(dtype_, b), k_);
  }

private:
  static Tensor operand(Workload &w, const Shape &shape, DType dtype, const std::string &name,
                        std::vector<Expr> extents, bool transposed) {
    if (transposed)
      std::swap(extents[0], extents[1]);
    return w.placeholder(name, extents, operand_type(dtype),
                         rows(w, shape, name == "A" ? "lda" : "ldb", extents[1]));
  }

  Tensor A_, B_;
  Reduce k_;
  DType dtype_;
  Transposed transposed_;
};

/// "gemm", "gemm_nt", …
std::string gemm_name(Transposed transposed) {
  std::string name = "gemm";
  if (transposed.a || transposed.b)
    name += std::string("_") + (transposed.a ? "t" : "n") + (transposed.b ? "t" : "n");
  return name;
}

} // namespace

Program gemm(const Shape &shape, DType dtype, Transposed transposed) {
  transposed = {transposed.a || shape.transposed.a, transposed.b || shape.transposed.b};
  Workload w(gemm_name(transposed));
  auto [M, N, K] = extents(w, shape);
  Product product(w, shape, dtype, {M, N, K}, transposed);
  DType result = result_type(dtype);
  Tensor C = w.inout("C", {M, N}, result, rows(w, shape, "ldc", N));
  Expr alpha = w.scalar("alpha", result), beta = w.scalar("beta", result);
  Tensor AB = w.compute("AB", {M, N}, {"i", "j"}, product);
  w.update(C, {"i", "j"}, [&](const std::vector<Expr> &x) -> Definition {
    Expr i = x[0], j = x[1];
    return alpha * AB(i, j) + beta * C.where(not_equal(beta, 0), i, j);
  });
  declare_part(w, shape);
  return w.output();
}

Program batched_gemm(const Shape &given, DType dtype) {
  Workload w("batched_gemm");
  Shape shape = given;
  if (shape.stated) // so that the number of elements of a batch fits in 64 bits
    shape.stated->max = std::min(shape.stated->max, std::int64_t{65535});
  auto [B, M, N, K] = extents<4>(w, shape, "a batch of matrix products", "BxMxNxK", {"batch", "M", "N", "K"});
  Tensor left = w.placeholder("A", {B, M, K}, operand_type(dtype), rows(w, shape, "lda"));
  Tensor right = w.placeholder("B", {B, K, N}, operand_type(dtype), rows(w, shape, "ldb"));
  DType result = result_type(dtype);
  Tensor C = w.inout("C", {B, M, N}, result, rows(w, shape, "ldc"));
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
  Workload w("gemm_bias_relu");
  auto [M, N, K] = extents(w, shape);
  Product product(w, shape, dtype, {M, N, K});
  DType result = result_type(dtype);
  Tensor bias = w.placeholder("bias", {N}, result);
  Expr alpha = w.scalar("alpha", result);
  Tensor AB = w.compute("AB", {M, N}, {"i", "j"}, product);
  Tensor C =
      w.compute("C", {M, N}, {"i", "j"}, [&](Expr i, Expr j) { return relu(alpha * AB(i, j) + bias(j)); });
  return w.output({{C, rows(w, shape, "ldc")}});
}

Program linear(const Shape &shape, DType dtype) {
  Workload w("linear");
  auto [M, N, K] = extents(w, shape);
  Product product(w, shape, dtype, {M, N, K}, {.b = true});
  DType stored = operand_type(dtype);
  Tensor bias = w.placeholder("bias", {N}, stored);
  Tensor AB = w.compute("AB", {M, N}, {"i", "j"}, product);
  Tensor Y = w.compute("Y", {M, N}, {"i", "j"}, [&](Expr i, Expr j) {
    return cast(stored, relu(AB(i, j) + cast(result_type(dtype), bias(j))));
  });
  const Stored stored_rows = rows(w, shape, "ldy");
  declare_part(w, shape);
  return w.output({{Y, stored_rows}});
}

Program matmul(const Shape &shape, DType dtype) {
  Workload w("matmul");
  auto [M, N, K] = extents(w, shape);
  Product product(w, shape, dtype, {M, N, K});
  Tensor C = w.compute("C", {M, N}, {"i", "j"}, product);
  return w.output({{C, rows(w, shape, "ldc")}});
}

Program accumulate_nt(const Shape &shape, DType dtype) {
  Workload w("accumulate_nt");
  auto [M, N, K] = extents(w, shape);
  Product product(w, shape, dtype, {M, N, K}, {.b = true});
  Tensor C = w.inout("C", {M, N}, result_type(dtype), rows(w, shape, "ldc"));
  Tensor AB = w.compute("AB", {M, N}, {"i", "j"}, product);
  w.update(C, {"i", "j"},
           [&](const std::vector<Expr> &x) -> Definition { return C(x[0], x[1]) + AB(x[0], x[1]); });
  return w.output();
}

Program alternate(const Shape &shape, DType dtype, const std::function<Expr(Expr)> &condition,
                  Expr (*choose)(Expr, Expr, Expr)) {
  Workload w("alternate");
  auto [N] = extents<1>(w, shape, "a vector", "N", {"N"});
  Tensor x = w.placeholder("x", {N}, operand_type(dtype));
  Tensor y = w.compute("y", {N}, {"i"}, [&](Expr i) {
    Expr value = factor(dtype, x(i));
    return choose(condition(i), value * 2 + 1, value * 3 - 1);
  });
  return w.output({y});
}

Program shifted_relu(const Shape &shape, DType dtype) {
  Workload w("shifted_relu");
  auto [N] = extents<1>(w, shape, "a vector", "N", {"N"});
  Tensor x = w.placeholder("x", {N}, operand_type(dtype));
  Tensor t = w.compute("t", {N}, {"i"}, [&](Expr i) -> Definition { return factor(dtype, x(i)) + 1; });
  Tensor y = w.compute("y", {N}, {"i"}, [&](Expr i) -> Definition { return relu(t(i)); });
  return w.output({y});
}

Program relu_steps(const Shape &shape, DType dtype) {
  Workload w("relu_steps");
  auto [N] = extents<1>(w, shape, "a vector", "N", {"N"});
  Tensor x = w.placeholder("x", {N}, operand_type(dtype));
  Tensor t = w.compute("t1", {N}, {"i"}, [&](Expr i) -> Definition { return relu(1 - factor(dtype, x(i))); });
  for (int n = 2; n <= steps_of_chain; ++n)
    t = w.compute(n == steps_of_chain ? "y" : fmt::format("t{}", n), {N}, {"i"},
                  [&](Expr i) -> Definition { return relu(1 - t(i)); });
  return w.output({t});
}

Program softmax(const Shape &shape, DType dtype) {
  Workload w("softmax");
  auto [M, N] = extents<2>(w, shape, "a softmax of rows", "MxN", {"M", "N"});
  DType stored = operand_type(dtype);
  Tensor X = w.placeholder("X", {M, N}, stored, rows(w, shape, "ldx"));
  Reduce j = reduce_axis("j", N);
  Tensor largest = w.compute("largest", {M}, {"i"},
                             [&](const Expr &i) -> Definition { return max_over(factor(dtype, X(i, j)), j); });
  Tensor power = w.compute("power", {M, N}, {"i", "j"}, [&](const Expr &i, const Expr &j) -> Definition {
    return exp(factor(dtype, X(i, j)) - largest(i));
  });
  Tensor total =
      w.compute("total", {M}, {"i"}, [&](const Expr &i) -> Definition { return sum(power(i, j), j); });
  Tensor Y = w.compute("Y", {M, N}, {"i", "j"}, [&](const Expr &i, const Expr &j) -> Definition {
    return cast(stored, power(i, j) / total(i));
  });
  return w.output({Y});
}

Program online_softmax(const Shape &shape, DType dtype) {
  if (!is_float(dtype))
    return softmax(shape, dtype);
  Workload w("online_softmax");
  auto [M, N] = extents<2>(w, shape, "a softmax of rows", "MxN", {"M", "N"});
  DType stored = operand_type(dtype);
  Tensor X = w.placeholder("X", {M, N}, stored, rows(w, shape, "ldx"));
  Reduce j = reduce_axis("j", N);
  Tensor total =
      w.compute("total", {M}, {"i"}, [&](const Expr &i) { return sum_of_exp_over(factor(dtype, X(i, j)), j); });
  Tensor Y = w.compute("Y", {M, N}, {"i", "j"}, [&](const Expr &i, const Expr &j) -> Definition {
    return cast(stored, exp(factor(dtype, X(i, j)) - part(total(i), "largest")) / part(total(i), "sum"));
  });
  return w.output({Y});
}

/// A norm adds this number to the mean square. With it, the factor of a row of zeros is finite. In u32, it
/// is 1.
static Expr epsilon(DType result) { return is_float(result) ? constant(result, 1e-5) : constant(result, 1); }

Program layernorm(const Shape &shape, DType dtype) {
  Workload w("layernorm");
  auto [M, N] = extents<2>(w, shape, "a layer norm of rows", "MxN", {"M", "N"});
  DType stored = operand_type(dtype), result = result_type(dtype);
  Tensor X = w.placeholder("X", {M, N}, stored, rows(w, shape, "ldx"));
  Tensor gamma = w.placeholder("gamma", {N}, stored), beta = w.placeholder("beta", {N}, stored);
  Reduce j = reduce_axis("j", N);
  Expr length = cast(result, Expr(N));
  Tensor total = w.compute("total", {M}, {"i"},
                           [&](const Expr &i) -> Definition { return sum(factor(dtype, X(i, j)), j); });
  Tensor mean = w.compute("mean", {M}, {"i"}, [&](const Expr &i) -> Definition { return total(i) / length; });
  Tensor centered = w.compute("centered", {M, N}, {"i", "j"}, [&](const Expr &i, const Expr &j) -> Definition {
    return factor(dtype, X(i, j)) - mean(i);
  });
  Tensor squares = w.compute("squares", {M}, {"i"}, [&](const Expr &i) -> Definition {
    return sum(centered(i, j) * centered(i, j), j);
  });
  Tensor scale = w.compute("scale", {M}, {"i"}, [&](const Expr &i) -> Definition {
    return rsqrt(squares(i) / length + epsilon(result));
  });
  Tensor Y = w.compute("Y", {M, N}, {"i", "j"}, [&](const Expr &i, const Expr &j) -> Definition {
    return cast(stored, centered(i, j) * scale(i) * factor(dtype, gamma(j)) + factor(dtype, beta(j)));
  });
  return w.output({Y});
}

Program welford_layernorm(const Shape &shape, DType dtype) {
  if (!is_float(dtype))
    return layernorm(shape, dtype);
  Workload w("welford_layernorm");
  auto [M, N] = extents<2>(w, shape, "a layer norm of rows", "MxN", {"M", "N"});
  DType stored = operand_type(dtype);
  Tensor X = w.placeholder("X", {M, N}, stored, rows(w, shape, "ldx"));
  Tensor gamma = w.placeholder("gamma", {N}, stored), beta = w.placeholder("beta", {N}, stored);
  Reduce j = reduce_axis("j", N);
  Tensor moments =
      w.compute("moments", {M}, {"i"}, [&](const Expr &i) { return moments_over(factor(dtype, X(i, j)), j); });
  Tensor scale = w.compute("scale", {M}, {"i"}, [&](const Expr &i) -> Definition {
    return rsqrt(part(moments(i), "squares") / part(moments(i), "count") + epsilon(result_type(dtype)));
  });
  Tensor Y = w.compute("Y", {M, N}, {"i", "j"}, [&](const Expr &i, const Expr &j) -> Definition {
    Expr centered = factor(dtype, X(i, j)) - part(moments(i), "mean");
    return cast(stored, centered * scale(i) * factor(dtype, gamma(j)) + factor(dtype, beta(j)));
  });
  return w.output({Y});
}

Program rmsnorm(const Shape &shape, DType dtype) {
  Workload w("rmsnorm");
  auto [M, N] = extents<2>(w, shape, "an RMS norm of rows", "MxN", {"M", "N"});
  DType stored = operand_type(dtype), result = result_type(dtype);
  Tensor X = w.placeholder("X", {M, N}, stored, rows(w, shape, "ldx"));
  Tensor gamma = w.placeholder("gamma", {N}, stored);
  Reduce j = reduce_axis("j", N);
  Tensor squares = w.compute("squares", {M}, {"i"}, [&](const Expr &i) -> Definition {
    return sum(factor(dtype, X(i, j)) * factor(dtype, X(i, j)), j);
  });
  Tensor scale = w.compute("scale", {M}, {"i"}, [&](const Expr &i) -> Definition {
    return rsqrt(squares(i) / cast(result, Expr(N)) + epsilon(result));
  });
  Tensor Y = w.compute("Y", {M, N}, {"i", "j"}, [&](const Expr &i, const Expr &j) -> Definition {
    return cast(stored, factor(dtype, X(i, j)) * scale(i) * factor(dtype, gamma(j)));
  });
  return w.output({Y});
}

Program vector_sum(const Shape &shape, DType dtype) {
  Workload w("vector_sum");
  auto [N] = extents<1>(w, shape, "a vector", "N", {"N"});
  Tensor x = w.placeholder("x", {N}, operand_type(dtype));
  Reduce k = reduce_axis("k", N);
  Tensor y =
      w.compute("y", {1}, {"i"}, [&](const Expr &) -> Definition { return sum(factor(dtype, x(k)), k); });
  return w.output({y});
}

Program transpose(const Shape &shape, DType dtype) {
  Workload w("transpose");
  auto [M, N] = extents<2>(w, shape, "a transpose", "MxN", {"M", "N"});
  Tensor X = w.placeholder("X", {M, N}, operand_type(dtype), rows(w, shape, "ldx"));
  Tensor Y =
      w.compute("Y", {N, M}, {"j", "i"}, [&](const Expr &j, const Expr &i) -> Definition { return X(i, j); });
  return w.output({{Y, rows(w, shape, "ldy")}});
}

Program gemv(const Shape &shape, DType dtype) {
  Workload w("gemv");
  auto [M, N] = extents<2>(w, shape, "a product of a matrix and a vector", "MxN", {"M", "N"});
  Tensor A = w.placeholder("A", {M, N}, operand_type(dtype), rows(w, shape, "lda"));
  Tensor x = w.placeholder("x", {N}, operand_type(dtype));
  Reduce j = reduce_axis("j", N);
  Tensor y = w.compute("y", {M}, {"i"}, [&](const Expr &i) -> Definition {
    return sum(factor(dtype, A(i, j)) * factor(dtype, x(j)), j);
  });
  return w.output({y});
}

namespace {

/// A step of the stencil of 3 x 3 elements. Returns an element of the result, from elements of `X`.
class StencilStep {
public:
  StencilStep(Workload &w, DType dtype, Expr M, Expr N)
      : dtype_(dtype), M_(std::move(M)), N_(std::move(N)), middle_(w.scalar("middle", result_type(dtype))),
        side_(w.scalar("side", result_type(dtype))), corner_(w.scalar("corner", result_type(dtype))) {}

  Expr operator()(const Tensor &X, const Expr &i, const Expr &j) const {
    Expr upper = i >= 1, lower = i + 1 < M_, left = j >= 1, right = j + 1 < N_;
    auto at = [&](const Expr &inside, int row, int column) {
      return factor(dtype_, X.where(inside, i + row, j + column));
    };
    Expr sides = at(upper, -1, 0) + at(left, 0, -1) + at(right, 0, 1) + at(lower, 1, 0);
    Expr corners = at(upper && left, -1, -1) + at(upper && right, -1, 1) + at(lower && left, 1, -1) +
                   at(lower && right, 1, 1);
    return cast(operand_type(dtype_), middle_ * factor(dtype_, X(i, j)) + side_ * sides + corner_ * corners);
  }

private:
  DType dtype_;
  Expr M_, N_, middle_, side_, corner_;
};

/// X after `steps` steps. All results but the last are the stage T.
Program stencil_steps(const char *name, int steps, const Shape &shape, DType dtype) {
  Workload w(name);
  auto [M, N] = extents<2>(w, shape, "a stencil", "MxN", {"M", "N"});
  Tensor X = w.placeholder("X", {M, N}, operand_type(dtype), rows(w, shape, "ldx"));
  StencilStep step(w, dtype, M, N);
  for (int n = steps; n > 0; --n)
    X = w.compute(n == 1 ? "Y" : "T", {M, N}, {"i", "j"},
                  [&](const Expr &i, const Expr &j) -> Definition { return step(X, i, j); });
  return w.output({{X, rows(w, shape, "ldy")}});
}

} // namespace

Program stencil(const Shape &shape, DType dtype) { return stencil_steps("stencil", 1, shape, dtype); }

Program stencil_twice(const Shape &shape, DType dtype) {
  return stencil_steps("stencil_twice", 2, shape, dtype);
}

Program conv(const Shape &given, DType dtype) {
  Workload w("conv");
  Shape shape = given;
  if (shape.stated) // so that the number of elements fits in 64 bits
    shape.stated->max = std::min(shape.stated->max, std::int64_t{16384});
  auto [N, H, W, C, K] = extents<5>(w, shape, "a convolution", "NxHxWxCxK", {"images", "H", "W", "C", "K"});
  Tensor X = w.placeholder("X", {N, H, W, C}, operand_type(dtype));
  Tensor F = w.placeholder("F", {3, 3, C, K}, operand_type(dtype));
  Reduce r = reduce_axis("r", 3), s = reduce_axis("s", 3), c = reduce_axis("c", C);
  Tensor Y = w.compute(
      "Y", {N, H, W, K}, {"n", "h", "w", "k"}, [&, &H = H, &W = W](const std::vector<Expr> &at) -> Definition {
        Expr row = at[1] + r - 1, column = at[2] + s - 1;
        Expr inside = 0 <= row && row < H && 0 <= column && column < W;
        return sum(factor(dtype, X.where(inside, at[0], row, column, c)) * factor(dtype, F(r, s, c, at[3])),
                   {r, s, c});
      });
  return w.output({Y});
}

std::optional<Program> find_workload(const std::string &name, const Shape &shape, DType dtype) {
  for (bool a : {false, true})
    for (bool b : {false, true})
      if (name == gemm_name({a, b}))
        return gemm(shape, dtype, {a, b});
  static const std::map<std::string, Program (*)(const Shape &, DType)> others = {
      {"batched_gemm", batched_gemm},
      {"gemm_bias_relu", gemm_bias_relu},
      {"linear", linear},
      {"matmul", matmul},
      {"accumulate_nt", accumulate_nt},
      {"shifted_relu", shifted_relu},
      {"relu_steps", relu_steps},
      {"softmax", softmax},
      {"online_softmax", online_softmax},
      {"layernorm", layernorm},
      {"welford_layernorm", welford_layernorm},
      {"rmsnorm", rmsnorm},
      {"vector_sum", vector_sum},
      {"transpose", transpose},
      {"gemv", gemv},
      {"stencil", stencil},
      {"stencil_twice", stencil_twice},
      {"conv", conv}};
  auto known = others.find(name);
  return known == others.end() ? std::nullopt : std::optional(known->second(shape, dtype));
}

} // namespace nestsmith
