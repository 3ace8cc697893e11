/// Tests the softmax of rows: a maximum, a sum of exponentials and a division, by one thread, by a warp and by
/// a block.
#include "dsl/expr/math.h"
#include "dsl/ir/tensor.h"
#include "dsl/schedule/schedule.h"
#include "tests/runtime/check/right.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace nestsmith {
namespace {

using test::expect_right;

Program softmax(std::int64_t m, std::int64_t n) {
  Workload w("softmax");
  Tensor X = w.placeholder("X", {m, n});
  Reduce j = reduce_axis("j", n);
  Tensor largest = w.compute("largest", {m}, {"i"}, [&](Expr i) { return max_over(X(i, j), j); });
  auto numerator = [&](const Expr &i, const Expr &j) { return exp(X(i, j) - largest(i)); };
  Tensor total = w.compute("total", {m}, {"i"}, [&](Expr i) { return sum(numerator(i, j), j); });
  return w.output({w.compute("Y", {m, n}, {"i", "j"},
                             [&](Expr i, Expr j) -> Definition { return numerator(i, j) / total(i); })});
}

/// One thread for each row.
Schedule by_thread(std::int64_t m, std::int64_t n) {
  Schedule s(softmax(m, n));
  BlockRef largest = s.block("largest"), total = s.block("total"), Y = s.block("Y");
  s.set_scope(largest, Scope::local);
  s.set_scope(total, Scope::local);
  auto [block, row] = s.split(s.loops(largest)[0], {infer, 32});
  s.reverse_compute_at(total, row);
  s.reverse_compute_at(Y, row);
  s.bind(block, Axis::block_x);
  s.bind(row, Axis::thread_x);
  return s;
}

/// The threads combine the maximum and the sum of a row, of which each of them has a copy, and divide the
/// elements among themselves.
void by_threads(Schedule &s, Loop row, Axis axis, std::int64_t threads) {
  BlockRef largest = s.block("largest"), total = s.block("total"), Y = s.block("Y");
  for (BlockRef result : {largest, total}) {
    if (result.id != largest.id)
      s.reverse_compute_at(result, row);
    s.set_scope(result, Scope::local);
    s.reduce_across(s.split<2>(s.loops(result).back(), {infer, threads})[1], axis);
  }
  s.reverse_compute_at(Y, row);
  s.bind(s.split<2>(s.loops(Y).back(), {infer, threads})[1], axis);
}

/// One warp for each row.
Schedule by_warp(std::int64_t m, std::int64_t n) {
  Schedule s(softmax(m, n));
  auto [block, row] = s.split(s.loops(s.block("largest"))[0], {infer, 4});
  s.bind(block, Axis::block_x);
  s.bind(row, Axis::warp);
  by_threads(s, row, Axis::lane, 32);
  return s;
}

/// One block for each row.
Schedule by_block(std::int64_t m, std::int64_t n) {
  Schedule s(softmax(m, n));
  Loop row = s.loops(s.block("largest"))[0];
  s.bind(row, Axis::block_x);
  by_threads(s, row, Axis::thread_x, 96);
  return s;
}

TEST(Softmax, IsRightByAThreadAWarpAndABlock) {
  for (auto *way : {by_thread, by_warp, by_block})
    for (auto [m, n] : {std::pair(1, 1), std::pair(5, 31), std::pair(33, 32), std::pair(7, 200)}) {
      SCOPED_TRACE(fmt::format("{}x{}", m, n));
      expect_right(way(m, n));
    }
}

} // namespace
} // namespace nestsmith
