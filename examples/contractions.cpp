// Contractions of many kinds, each scheduled by library::product, with every nestsmith command for them.
//
//   contractions list | show | check | bench …
//
// bench/contractions.py measures the same in PyTorch.

#include <nestsmith/nestsmith.h>

#include <functional>

using namespace nestsmith;

/// The type of a sum: operands of less than 4 bytes are multiplied and added in 4. Ring mode has u16 and u32.
DType wide(DType dtype) {
  if (byte_size(dtype) >= 4)
    return dtype;
  return is_float(dtype) ? DType::f32 : dtype == DType::i8 ? DType::i32 : DType::u32;
}
Expr product(DType dtype, Expr a, Expr b) { return cast(wide(dtype), a) * cast(wide(dtype), b); }

/// Y[b, i, j] = relu(sum over k of X[b, i, k]*W[b, k, j] + bias[j])
Program bias_relu(const Shape &shape, DType dtype) {
  Expr B = shape.at(0), M = shape.at(1), N = shape.at(2), K = shape.at(3);
  Workload w("bias_relu");
  Tensor X = w.placeholder("X", {B, M, K}, dtype), W = w.placeholder("W", {B, K, N}, dtype);
  Tensor bias = w.placeholder("bias", {N}, wide(dtype));
  Reduce k = reduce_axis("k", K);
  Tensor S = w.compute("S", {B, M, N}, {"b", "i", "j"},
                       [&](Expr b, Expr i, Expr j) { return sum(product(dtype, X(b, i, k), W(b, k, j)), k); });
  return w.output({w.compute("Y", {B, M, N}, {"b", "i", "j"}, [&](Expr b, Expr i, Expr j) {
    return max(S(b, i, j) + bias(j), cast(wide(dtype), Expr(0)));
  })});
}

/// S[i, b, j] = sum over k and l of X[i, b, k, l]*W[k, b, j, l]
Program two_sums(const Shape &shape, DType dtype) {
  Expr B = shape.at(0), M = shape.at(1), N = shape.at(2), K = shape.at(3), L = shape.at(4);
  Workload w("two_sums");
  Tensor X = w.placeholder("X", {M, B, K, L}, dtype), W = w.placeholder("W", {K, B, N, L}, dtype);
  Reduce k = reduce_axis("k", K), l = reduce_axis("l", L);
  return w.output({w.compute("S", {M, B, N}, {"i", "b", "j"}, [&](Expr i, Expr b, Expr j) {
    return sum(product(dtype, X(i, b, k, l), W(k, b, j, l)), {k, l});
  })});
}

/// Y[j, i] = 2 * sum over k of X[k, i]*W[j, k]
Program transposed(const Shape &shape, DType dtype) {
  Expr M = shape.at(0), N = shape.at(1), K = shape.at(2);
  Workload w("transposed");
  Tensor X = w.placeholder("X", {K, M}, dtype), W = w.placeholder("W", {N, K}, dtype);
  Reduce k = reduce_axis("k", K);
  Tensor S = w.compute("S", {M, N}, {"i", "j"},
                       [&](Expr i, Expr j) { return sum(product(dtype, X(k, i), W(j, k)), k); });
  return w.output({w.compute("Y", {N, M}, {"j", "i"},
                             [&](Expr j, Expr i) { return S(i, j) * cast(wide(dtype), Expr(2)); })});
}

/// S[i, j] = sum over k of X[k, i]*W[k, j], and Y = relu(S)
Program two_outputs(const Shape &shape, DType dtype) {
  Expr M = shape.at(0), N = shape.at(1), K = shape.at(2);
  Workload w("two_outputs");
  Tensor X = w.placeholder("X", {K, M}, dtype), W = w.placeholder("W", {K, N}, dtype);
  Reduce k = reduce_axis("k", K);
  Tensor S = w.compute("S", {M, N}, {"i", "j"},
                       [&](Expr i, Expr j) { return sum(product(dtype, X(k, i), W(k, j)), k); });
  Tensor Y = w.compute("Y", {M, N}, {"i", "j"},
                       [&](Expr i, Expr j) { return max(S(i, j), cast(wide(dtype), Expr(0))); });
  return w.output({S, Y});
}

/// S[b, i, j] = sum over k of relu(X[b, i, k])*W[k, j]
Program relu_of_input(const Shape &shape, DType dtype) {
  Expr B = shape.at(0), M = shape.at(1), N = shape.at(2), K = shape.at(3);
  Workload w("relu_of_input");
  Tensor X = w.placeholder("X", {B, M, K}, dtype), W = w.placeholder("W", {K, N}, dtype);
  Tensor R = w.compute("R", {B, M, K}, {"b", "i", "k"}, [&](Expr b, Expr i, Expr k) {
    return cast(dtype, max(cast(wide(dtype), X(b, i, k)), cast(wide(dtype), Expr(0))));
  });
  Reduce k = reduce_axis("k", K);
  return w.output({w.compute("S", {B, M, N}, {"b", "i", "j"}, [&](Expr b, Expr i, Expr j) {
    return sum(product(dtype, R(b, i, k), W(k, j)), k);
  })});
}

/// S[i, j] = sum over k of X[i, k]*X[j, k]
Program gram(const Shape &shape, DType dtype) {
  Expr M = shape.at(0), K = shape.at(1);
  Workload w("gram");
  Tensor X = w.placeholder("X", {M, K}, dtype);
  Reduce k = reduce_axis("k", K);
  return w.output({w.compute("S", {M, M}, {"i", "j"},
                             [&](Expr i, Expr j) { return sum(product(dtype, X(i, k), X(j, k)), k); })});
}

/// A convolution of images by 3 x 3 filters: N, H, W, C and K channels of the result.
Program convolution(const Shape &shape, DType dtype) {
  Expr N = shape.at(0), H = shape.at(1), W = shape.at(2), C = shape.at(3), K = shape.at(4);
  Workload w("convolution");
  Tensor X = w.placeholder("X", {N, H, W, C}, dtype), F = w.placeholder("F", {3, 3, C, K}, dtype);
  Reduce r = reduce_axis("r", 3), t = reduce_axis("t", 3), c = reduce_axis("c", C);
  return w.output(
      {w.compute("S", {N, H, W, K}, {"n", "h", "w", "k"}, [&](const std::vector<Expr> &at) -> Definition {
        Expr y = at[1] + Expr(r) - 1, x = at[2] + Expr(t) - 1;
        Expr pixel = X.where(0 <= y && y < H && 0 <= x && x < W, at[0], y, x, c);
        return sum(product(dtype, pixel, F(r, t, c, at[3])), {r, t, c});
      })});
}

Rung rung(const char *name, const char *summary, Program (*program)(const Shape &, DType), Shape small,
          Shape large) {
  auto build = [program](const Shape &shape, DType dtype, const Target &target) {
    Schedule s(program(shape, dtype), target);
    library::product(s, s.block("S"));
    return s;
  };
  Shape tile(small.size(), 1);
  return {"", name, summary, build, tile, std::move(small), std::move(large)};
}

int main(int argc, char **argv) {
  return cli_main(
      argc, argv,
      {rung("bias_relu", "a batch, with a bias and a ReLU", bias_relu, {3, 70, 96, 40}, {16, 1024, 1024, 1024}),
       rung("two_sums", "the batch in the middle, two axes of the sum", two_sums, {3, 50, 36, 5, 8},
            {8, 1024, 1024, 16, 64}),
       rung("transposed", "both operands and the result transposed", transposed, {65, 40, 33},
            {4096, 4096, 2048}),
       rung("two_outputs", "the sum and its ReLU", two_outputs, {64, 48, 32}, {4096, 4096, 2048}),
       rung("relu_of_input", "an operand that is computed", relu_of_input, {2, 50, 48, 32},
            {4, 1024, 4096, 1024}),
       rung("gram", "a matrix by itself", gram, {40, 50}, {4096, 2048}),
       rung("convolution", "a convolution as a product", convolution, {2, 7, 9, 5, 20},
            {32, 56, 56, 64, 128})});
}
