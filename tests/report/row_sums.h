#pragma once
/// A rung with a fragment of which every lane holds a copy.

#include "dsl/tensor.h"
#include "schedules/rung.h"

namespace nestsmith::test {

/// Y[i] = sum of X[i, k] over k, one row for each warp. `warp_sum` adds 32 elements, and each lane gets the
/// sum.
inline Schedule row_sums(const Shape &shape, DType dtype, const Target &target) {
  Workload w("row_sums");
  Tensor x = w.placeholder("X", {shape[0], shape[1]}, dtype);
  Reduce k = reduce_axis("k", shape[1]);
  Schedule s(w.output({w.compute("Y", {shape[0]}, {"i"}, [&](Expr i) { return sum(x(i, k), k); })}), target);
  auto Y = s.block("Y");
  auto out = s.cache_write(Y, Scope::warp);
  auto [block, warp] = s.split(s.loops(Y)[0], {infer, 4});
  auto [step, lane] = s.split(s.loops(Y)[2], {infer, 32});
  s.reverse_compute_at(out, warp);
  s.bind(block, Axis::block_x);
  s.bind(warp, Axis::warp);
  auto fragment = s.cache_read(Y, "X", Scope::warp);
  s.compute_at(fragment, step);
  s.transform_layout(fragment, "i, k -> k%32, i");
  s.bind(s.loops_below(fragment, step).back(), Axis::lane);
  s.transform_layout(Y, "i, r -> r, i");
  s.bind(s.split(s.loops_below(out, warp)[0], {infer, 32})[1], Axis::lane);
  s.tensorize(lane, "warp_sum");
  return s;
}

inline Rung row_sums_rung() {
  return {"", "row_sums", "a row for each warp", row_sums, {8, 64}, {8, 64}, {8, 64}};
}

} // namespace nestsmith::test
