#pragma once
/// A computation with tuples.

#include "dsl/ir/tensor.h"

namespace nestsmith::test {

/// The largest element of each row of X and its index, or the smallest one. The blocks are best, whose elements
/// are tuples, value and index.
inline Program argmax_rows(std::int64_t m, std::int64_t n, DType dtype = DType::f32, bool largest = true) {
  Workload w("argmax_rows");
  Tensor x = w.placeholder("X", {m, n}, dtype);
  Reduce k = reduce_axis("k", n);
  Tensor best = w.compute("best", {m}, {"i"},
                          [&](Expr i) { return largest ? argmax_over(x(i, k), k) : argmin_over(x(i, k), k); });
  Tensor value = w.compute("value", {m}, {"i"}, [&](Expr i) { return part(best(i), "value"); });
  Tensor index = w.compute("index", {m}, {"i"}, [&](Expr i) { return part(best(i), "index"); });
  return w.output({value, index});
}

} // namespace nestsmith::test
