#pragma once
/// Computations that reduce rows.

#include "dsl/ir/tensor.h"

namespace nestsmith::test {

/// Y[i] = the reduction of the row X[i, …].
inline Program rows(Reducer reducer, std::int64_t m, std::int64_t n, DType dtype = DType::f32) {
  Workload w("rows");
  Tensor x = w.placeholder("X", {m, n}, dtype);
  Reduce k = reduce_axis("k", n);
  return w.output({w.compute("Y", {m}, {"i"}, [&](Expr i) { return reduce(reducer, x(i, k), {k}); })});
}

/// Y = X + row sum of X. The blocks are T, which has the sums, and Y.
inline Program centered(std::int64_t m, std::int64_t n) {
  Workload w("centered");
  Tensor x = w.placeholder("X", {m, n}, DType::u32);
  Reduce k = reduce_axis("k", n);
  Tensor t = w.compute("T", {m}, {"i"}, [&](Expr i) { return sum(x(i, k), k); });
  return w.output({w.compute("Y", {m, n}, {"i", "j"}, [&](Expr i, Expr j) { return x(i, j) + t(i); })});
}

} // namespace nestsmith::test
