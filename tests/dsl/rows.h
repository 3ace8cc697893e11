#pragma once
/// A computation that reduces rows.

#include "dsl/ir/tensor.h"

namespace nestsmith::test {

/// Y[i] = the reduction of the row X[i, …].
inline Program rows(Reducer reducer, std::int64_t m, std::int64_t n, DType dtype = DType::f32) {
  Workload w("rows");
  Tensor x = w.placeholder("X", {m, n}, dtype);
  Reduce k = reduce_axis("k", n);
  return w.output({w.compute("Y", {m}, {"i"}, [&](Expr i) { return reduce(reducer, x(i, k), {k}); })});
}

} // namespace nestsmith::test
