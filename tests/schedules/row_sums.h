#pragma once
/// Sums of rows by the lanes of a warp: a schedule with a fragment in which every lane holds a copy.

#include "dsl/ir/tensor.h"
#include "dsl/schedule/schedule.h"

#include <string>
#include <vector>

namespace nestsmith::test {

/// y[i] = sum of x[i, k], or of x[i, k]*z[i, k], over k, with one row per warp. In each step, the lanes load
/// one element of each operand. Every lane holds a copy of the sum.
inline Schedule row_sums(std::int64_t rows, std::int64_t columns, DType dtype,
                         const std::string &intrinsic = "warp_sum", const Target &target = {}) {
  Workload w("row_sums");
  std::vector<Tensor> operands = {w.placeholder("X", {rows, columns}, dtype)};
  if (intrinsic != "warp_sum")
    operands.push_back(w.placeholder("Z", {rows, columns}, dtype));
  Reduce k = reduce_axis("k", columns);
  Schedule s(w.output({w.compute("Y", {rows}, {"i"},
                                 [&](Expr i) {
                                   return sum(operands.size() == 1 ? operands[0](i, k)
                                                                   : operands[0](i, k) * operands[1](i, k),
                                              k);
                                 })}),
             target);
  auto Y = s.block("Y");
  auto out = s.cache_write(Y, Scope::warp);
  auto [i_block, warp] = s.split(s.loops(Y)[0], {infer, 4});
  auto [step, lane] = s.split(s.loops(Y)[2], {infer, 32});
  s.reverse_compute_at(out, warp);
  s.bind(i_block, Axis::block_x);
  s.bind(warp, Axis::warp);
  for (const Tensor &operand : operands) {
    auto fragment = s.cache_read(Y, operand.buffer()->name, Scope::warp);
    s.compute_at(fragment, step);
    s.transform_layout(fragment, "i, k -> k%32, i");
    s.bind(s.loops_below(fragment, step).back(), Axis::lane);
  }
  s.transform_layout(Y, "i, r -> r, i"); // a copy in each lane
  s.bind(s.split(s.loops_below(out, warp)[0], {infer, 32})[1], Axis::lane);
  s.tensorize(lane, intrinsic);
  return s;
}

} // namespace nestsmith::test
