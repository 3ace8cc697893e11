#pragma once
/// A computation whose reducer is not commutative.

#include "dsl/ir/tensor.h"

namespace nestsmith::test {

/// The composition of the functions x -> scale*x + shift, the first one first. The result is exact modulo 2^32.
inline Reducer composed() {
  Expr identity = tuple({{"scale", constant(DType::u32, 1)}, {"shift", constant(DType::u32, 0)}});
  return define_reducer("composed", identity,
                        [](const Expr &a, const Expr &b) {
                          return tuple({{"scale", part(a, "scale") * part(b, "scale")},
                                        {"shift", part(a, "shift") * part(b, "scale") + part(b, "shift")}});
                        },
                        {.commutative = false});
}

/// Y[i] = the value at 1 of the composition of x -> X[i, k]*x + k, for k < n and in the order of k. The blocks
/// are all, whose elements are tuples, and Y.
inline Program affine_rows(std::int64_t m, std::int64_t n) {
  Workload w("affine_rows");
  Tensor x = w.placeholder("X", {m, n}, DType::u32);
  Reduce k = reduce_axis("k", n);
  Tensor all = w.compute("all", {m}, {"i"}, [&](Expr i) {
    Expr term = tuple({{"scale", x(i, k)}, {"shift", cast(DType::u32, k)}});
    return reduce(composed(), term, {k});
  });
  return w.output({w.compute(
      "Y", {m}, {"i"}, [&](Expr i) -> Definition { return part(all(i), "scale") + part(all(i), "shift"); })});
}

/// The same over two axes, which are combined in the order of nested loops over k and l.
inline Program affine_planes(std::int64_t m, std::int64_t n, std::int64_t p) {
  Workload w("affine_planes");
  Tensor x = w.placeholder("X", {m, n, p}, DType::u32);
  Reduce k = reduce_axis("k", n), l = reduce_axis("l", p);
  Tensor all = w.compute("all", {m}, {"i"}, [&](Expr i) {
    Expr term = tuple({{"scale", x(i, k, l)}, {"shift", cast(DType::u32, k + 3 * l)}});
    return reduce(composed(), term, {k, l});
  });
  return w.output({w.compute(
      "Y", {m}, {"i"}, [&](Expr i) -> Definition { return part(all(i), "scale") + part(all(i), "shift"); })});
}

} // namespace nestsmith::test
