/// The programs of the first kernels, in the tensor language.

#include "tests/runtime/check/first_kernels.h"

#include "dsl/ir/tensor.h"

namespace nestsmith::test {

namespace {

constexpr std::int64_t M = 5, N = 33;

/// Returns the value multiplied by the factor of the fault.
Expr times(Expr value, const Fault &fault) {
  return fault.factor == 1 ? value : value * float_imm(fault.factor);
}

/// Returns x(i, k), or 0 for the last k if the fault loses this term.
Expr term(const Tensor &x, const Expr &i, const Expr &k, const Fault &fault, std::int64_t terms = N) {
  return fault.loses_term ? x.where(k < terms - 1, i, k) : x(i, k);
}

/// exp(x) = (1 + x/256)^256.
Expr power(const Expr &x) {
  Expr t = max(x, -64.0F) * float_imm(1.0 / 256) + 1.0F;
  for (int n = 0; n < 8; ++n)
    t = t * t;
  return t;
}

Program softmax(const Fault &fault) {
  Workload w("softmax");
  Tensor x = w.placeholder("x", {M, N});
  Tensor e = w.compute("e", {M, N}, {"i", "j"}, [&](Expr i, Expr j) { return power(x(i, j)); });
  Reduce k = reduce_axis("k", N);
  Tensor z = w.compute("z", {M}, {"i"}, [&](Expr i) { return sum(term(e, i, k, fault), k); });
  return w.output(
      {w.compute("y", {M, N}, {"i", "j"}, [&](Expr i, Expr j) { return times(e(i, j) / z(i), fault); })});
}

Program scaled_by_squares(const Fault &fault) {
  Workload w("scaled_by_squares");
  Tensor x = w.placeholder("x", {M, N}), g = w.placeholder("g", {N});
  Reduce k = reduce_axis("k", N);
  Tensor s = w.compute("s", {M}, {"i"}, [&](Expr i) { return sum(term(x, i, k, fault) * x(i, k), k); });
  return w.output({w.compute("y", {M, N}, {"i", "j"}, [&](Expr i, Expr j) {
    return times(x(i, j) * g(j) / (s(i) / float_imm(N) + float_imm(1e-5)), fault);
  })});
}

Program layer_norm(const Fault &fault) {
  Workload w("layer_norm");
  Tensor x = w.placeholder("x", {M, N}), g = w.placeholder("g", {N}), b = w.placeholder("b", {N});
  Reduce k = reduce_axis("k", N), l = reduce_axis("l", N);
  Tensor s = w.compute("s", {M}, {"i"}, [&](Expr i) { return sum(x(i, k), k); });
  Tensor d =
      w.compute("d", {M, N}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) - s(i) * float_imm(1.0 / N); });
  Tensor v = w.compute("v", {M}, {"i"}, [&](Expr i) { return sum(term(d, i, l, fault) * d(i, l), l); });
  return w.output({w.compute("y", {M, N}, {"i", "j"}, [&](Expr i, Expr j) {
    return times(d(i, j) / (v(i) * float_imm(1.0 / N) + float_imm(1e-5)) * g(j) + b(j), fault);
  })});
}

Program bias_relu(const Fault &fault) {
  Workload w("bias_relu");
  Tensor a = w.placeholder("a", {M, N}), b = w.placeholder("b", {N, 7}), c = w.placeholder("c", {7});
  Reduce k = reduce_axis("k", N);
  Tensor p = w.compute("p", {M, 7}, {"i", "j"},
                       [&](Expr i, Expr j) { return sum(term(a, i, k, fault) * b(k, j), k); });
  return w.output({w.compute("y", {M, 7}, {"i", "j"},
                             [&](Expr i, Expr j) { return times(max(p(i, j) + c(j), 0.0F), fault); })});
}

Program dequantised(const Fault &fault) {
  Workload w("dequantised");
  Tensor q = w.placeholder("q", {M, N}, DType::i8), s = w.placeholder("s", {M}), x = w.placeholder("x", {N, 7});
  Reduce k = reduce_axis("k", N);
  return w.output({w.compute("y", {M, 7}, {"i", "j"}, [&](Expr i, Expr j) {
    return sum(times(cast(DType::f32, term(q, i, k, fault)) * s(i) * x(k, j), fault), k);
  })});
}

Program causal(const Fault &fault) {
  Workload w("causal");
  Tensor x = w.placeholder("x", {N, N}), v = w.placeholder("v", {N});
  Reduce k = reduce_axis("k", N);
  return w.output({w.compute("y", {N}, {"i"}, [&](Expr i) {
    return sum(times(x.where(fault.loses_term ? k < i : k <= i, i, k) * v(k), fault), k);
  })});
}

Program gelu(const Fault &fault) {
  Workload w("gelu");
  Tensor x = w.placeholder("x", {100});
  return w.output({w.compute("y", {100}, {"i"}, [&](Expr i) -> Definition {
    Expr t = x(i) * x(i);
    Expr p = fault.loses_term ? Expr(0.3989F) : 0.3989F - 0.0665F * t;
    return times(x(i) * (0.5F + x(i) * p), fault);
  })});
}

Program argmax(const Fault &fault) {
  Workload w("argmax");
  Tensor x = w.placeholder("x", {M, N});
  Reduce k = reduce_axis("k", N), j = reduce_axis("j", N);
  Tensor rank = w.compute("rank", {M, N}, {"i", "j"}, [&](Expr i, Expr j) {
    Expr larger = select(x(i, k) > x(i, j), constant(DType::i32, 1), constant(DType::i32, 0));
    return sum(fault.loses_term ? select(k < N / 2, larger, constant(DType::i32, 0)) : larger, k);
  });
  return w.output({w.compute("y", {M}, {"i"}, [&](Expr i) {
    return sum(select(rank(i, j) == 0, cast(DType::i32, j), constant(DType::i32, 0)), j);
  })});
}

Program mean_and_variance(const Fault &fault) {
  Workload w("mean_and_variance");
  Tensor x = w.placeholder("x", {M, N});
  Reduce k = reduce_axis("k", N), l = reduce_axis("l", N);
  Tensor s = w.compute("s", {M}, {"i"}, [&](Expr i) { return sum(term(x, i, k, fault), k); });
  Tensor mean = w.compute("mean", {M}, {"i"}, [&](Expr i) { return times(s(i) / float_imm(N), fault); });
  Tensor v = w.compute("v", {M}, {"i"}, [&](Expr i) {
    Expr d = x(i, l) - s(i) / float_imm(N);
    return sum(d * d, l);
  });
  Tensor variance =
      w.compute("variance", {M}, {"i"}, [&](Expr i) { return times(v(i) / float_imm(N - 1), fault); });
  return w.output({mean, variance});
}

Program distances(const Fault &fault) {
  Workload w("distances");
  Tensor a = w.placeholder("a", {M, N}), b = w.placeholder("b", {7, N});
  Reduce k = reduce_axis("k", N);
  return w.output({w.compute("y", {M, 7}, {"i", "j"}, [&](Expr i, Expr j) {
    Expr d = term(a, i, k, fault) - b(j, k);
    return sum(times(d * d, fault), k);
  })});
}

/// The square of the cosine of the angle between two vectors.
Program similarity(const Fault &fault) {
  Workload w("similarity");
  Tensor a = w.placeholder("a", {M, N}), b = w.placeholder("b", {7, N});
  Reduce k = reduce_axis("k", N), l = reduce_axis("l", N), m = reduce_axis("m", N);
  Tensor p = w.compute("p", {M, 7}, {"i", "j"},
                       [&](Expr i, Expr j) { return sum(term(a, i, k, fault) * b(j, k), k); });
  Tensor aa = w.compute("aa", {M}, {"i"}, [&](Expr i) { return sum(a(i, l) * a(i, l), l); });
  Tensor bb = w.compute("bb", {7}, {"j"}, [&](Expr j) { return sum(b(j, m) * b(j, m), m); });
  return w.output({w.compute("y", {M, 7}, {"i", "j"}, [&](Expr i, Expr j) {
    return times(p(i, j) * p(i, j) / (aa(i) * bb(j)), fault);
  })});
}

Program weighted_stencil(const Fault &fault) {
  Workload w("stencil");
  Tensor x = w.placeholder("x", {102}), c = w.placeholder("c", {3});
  return w.output({w.compute("y", {100}, {"i"}, [&](Expr i) -> Definition {
    Expr two = c(0) * x(i) + c(1) * x(i + 1);
    return times(fault.loses_term ? two : two + c(2) * x(i + 2), fault);
  })});
}

} // namespace

const std::vector<FirstKernel> &first_kernels() {
  static const std::vector<FirstKernel> all = {{"softmax", softmax},
                                               {"scaled_by_squares", scaled_by_squares},
                                               {"layer_norm", layer_norm},
                                               {"bias_relu", bias_relu},
                                               {"dequantised", dequantised},
                                               {"causal", causal},
                                               {"gelu", gelu},
                                               {"argmax", argmax, false},
                                               {"mean_and_variance", mean_and_variance},
                                               {"distances", distances},
                                               {"similarity", similarity},
                                               {"stencil", weighted_stencil}};
  return all;
}

} // namespace nestsmith::test
