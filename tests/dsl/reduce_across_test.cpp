/// Tests what `reduce_across` refuses; tests/schedules has what it accepts.
#include "dsl/ir/tensor.h"
#include "tests/dsl/rows.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::expect_refused;
using test::rows;

TEST(ReduceAcrossRefuses, AnAxisOfThreadBlocks) {
  Schedule s(rows(Reducer::max, 5, 70));
  expect_refused(
      s, "reduce_across.axis", [&] { s.reduce_across(s.loop("k"), Axis::block_x); },
      "got the axis blockIdx.x, expected the threads of a block, which can combine their results: threadIdx.x, "
      "threadIdx.y, threadIdx.z, warp or lane; use rfactor and last_block for thread blocks",
      {"k"});
}

TEST(ReduceAcrossRefuses, ALoopOfAnotherExtentThanAWarp) {
  Schedule s(rows(Reducer::max, 5, 70));
  s.bind(s.loop("i"), Axis::block_x);
  expect_refused(s, "reduce_across.axis", [&] { s.reduce_across(s.loop("k"), Axis::lane); },
                 "s.bind(k, Axis::lane): the loop k has 70 iterations, but lane takes at most 32; split it and "
                 "bind a part",
                 {"k", "Y"});
}

TEST(ReduceAcrossRefuses, ALoopThatIsNoReduction) {
  Schedule s(rows(Reducer::max, 5, 70));
  expect_refused(s, "reduce_across.sum", [&] { s.reduce_across(s.loop("i"), Axis::lane); },
                 "no block reduces over i; name a loop of a reduction", {"i"});
}

TEST(ReduceAcrossRefuses, AResultWithoutAPlace) {
  Schedule s(rows(Reducer::max, 5, 64));
  auto [i, k] = s.loops<2>(s.block("Y"));
  s.reorder({k, i});
  expect_refused(
      s, "reduce_across.place", [&] { s.reduce_across(k, Axis::thread_x); },
      "no loop is around the loops of the reduction of block Y, so its result has no place in the nest; give "
      "the result an axis, of extent 1 if it is one element, and reorder so that its loop is the outermost",
      {"Y"});
}

TEST(ReduceAcrossRefuses, AResultThatTheNestUses) {
  Workload w("used");
  Tensor x = w.placeholder("X", {5, 64});
  Reduce k = reduce_axis("k", 64);
  Tensor m = w.compute("M", {5}, {"i"}, [&](Expr i) { return max_over(x(i, k), k); });
  Schedule s(w.output({w.compute("Y", {5}, {"i"}, [&](Expr i) { return m(i) + Expr(1.0F); })}));
  s.reverse_compute_at(s.block("Y"), s.loops(s.block("M"))[0]);
  expect_refused(s, "reduce_across.sum", [&] { s.reduce_across(s.loops(s.block("M"))[1], Axis::thread_x); },
                 "block Y uses M in the nest of M", {"k", "M"});
}

TEST(ReduceAcrossRefuses, AnUnrolledLoop) {
  Schedule s(rows(Reducer::max, 5, 64));
  s.bind(s.loop("i"), Axis::block_x);
  s.unroll(s.loop("k"));
  expect_refused(s, "reduce_across.step", [&] { s.reduce_across(s.loop("k"), Axis::thread_x); },
                 "s.split(k, {infer, 32}): the loop k is unrolled", {"k", "Y"});
}

} // namespace
} // namespace nestsmith
