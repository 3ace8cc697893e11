/// Checks schedules whose boxes end with the accesses, and sums of partial sums, on the simulator.

#include "dsl/expr/math.h"
#include "dsl/ir/tensor.h"
#include "tests/runtime/check/right.h"

namespace nestsmith {
namespace {

using test::expect_right;

/// Computes the tile of `temporary` in shared memory in blocks of 256 threads, and then `reader`.
void share_below_threads(Schedule &s, const std::string &temporary, const std::string &reader) {
  auto [block, thread] = s.split(s.loops(s.block(reader))[0], {infer, 256});
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  s.compute_at(s.block(temporary), block);
  s.set_scope(s.block(temporary), Scope::shared);
  s.bind(s.split(s.loops(s.block(temporary)).back(), {infer, 256})[1], Axis::thread_x);
}

TEST(Boxes, OfSmallArraysBelowManyThreads) {
  for (std::int64_t n : {1, 2, 8, 129}) {
    Workload w("small");
    Tensor x = w.placeholder("X", {2 * n});
    Tensor t = w.compute("T", {2 * n}, {"j"}, [&](Expr j) { return x(j) * 2.0F; });
    Tensor u = w.compute("U", {n}, {"j"}, [&](Expr j) { return maximum(t(j), t(j + Expr(n))); });
    Schedule s(w.output({u}));
    share_below_threads(s, "T", "U");
    expect_right(s);
    EXPECT_EQ(lower(s).shared_bytes(), 4 * 2 * n);
  }
}

TEST(Boxes, OfAHaloThatWasMovedBeforeItsScopeWasSet) {
  const std::int64_t n = 1024;
  Workload w("halo");
  Tensor x = w.placeholder("X", {n});
  Tensor cache = w.compute("cache", {n}, {"h"}, [&](Expr h) { return x(h) * 2.0F; });
  Reduce k = reduce_axis("k", 3);
  Tensor y = w.compute("Y", {n}, {"h"}, [&](Expr h) {
    Expr i = h + k - 1;
    return sum(cache.where(Expr(0) <= i && i < n, i), k);
  });
  Schedule s(w.output({y}));
  share_below_threads(s, "cache", "Y");
  expect_right(s);
  EXPECT_EQ(lower(s).shared_bytes(), 4 * 258);
}

TEST(Boxes, OfSumsOfPartialSums) {
  for (std::int64_t n : {40, 256, 1000}) {
    Workload w("rowsum");
    Tensor x = w.placeholder("X", {3, n});
    Reduce k = reduce_axis("k", n);
    Tensor y = w.compute("y", {3}, {"i"}, [&](Expr i) { return sum(x(i, k), k); });
    Schedule s(w.output({y}));
    BlockRef first = s.rfactor(s.split(s.loops(s.block("y"))[1], {infer, 64})[1]);
    auto loops = s.loops(first);
    s.reorder({loops[0], loops[2], loops[1]});
    BlockRef second = s.rfactor(s.split(s.loops(s.block("y")).back(), {infer, 8})[1]);
    Loop row = s.loops(first)[0];
    s.bind(row, Axis::block_x);
    s.bind(s.loops(first)[1], Axis::thread_x);
    s.set_scope(first, Scope::shared);
    s.reverse_compute_at(second, row);
    s.bind(s.split(s.loops(second)[1], {infer, 64})[1], Axis::thread_x);
    expect_right(s);
    EXPECT_EQ(lower(s).shared_bytes(), 4 * 64);
  }
}

} // namespace
} // namespace nestsmith
