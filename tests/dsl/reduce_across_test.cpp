/// Tests what `reduce_across` refuses; tests/schedules has what it accepts.
#include "dsl/ir/tensor.h"
#include "tests/dsl/rows.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::rows;

TEST(ReduceAcross, OfThreadBlocksIsASequenceOfFourDirectives) {
  auto cut = [](Schedule &s) {
    s.bind(s.loop("i"), Axis::block_x);
    return s.split<2>(s.loop("k"), {4, infer}, named("part", "step"))[0];
  };
  for (std::int64_t n : {1, 3, 70}) {
    Schedule one(rows(Reducer::max, 5, n)), four(rows(Reducer::max, 5, n));
    Loop part = cut(one);
    EXPECT_EQ(Schedule::name(one.reduce_across(part, Axis::block_y, named("parts"))), "parts");
    part = cut(four);
    four.rfactor(part, named("parts"));
    four.bind(part, Axis::block_y);
    four.reverse_compute_at(four.block("Y"), four.loop("i"));
    four.last_block(part);
    EXPECT_EQ(print(one.program()), print(four.program()));
    EXPECT_TRUE(test::same_meaning(one));
    EXPECT_TRUE(one.obligations().empty()) << one.obligations().front().message;
  }
}

/// The threads of a block share its part, although the last block reads the parts in the same nest.
TEST(ReduceAcross, OfThreadsAfterThreadBlocksKeepsTheLastBlockAtTheEnd) {
  for (std::int64_t n : {1, 63, 64, 65, 300})
    for (Axis axis : {Axis::thread_x, Axis::lane, Axis::thread_y}) {
      Schedule s(rows(Reducer::max, 5, n));
      s.bind(s.loop("i"), Axis::block_x);
      auto [part, step, thread] = s.split<3>(s.loop("k"), {3, infer, 32}, named("part", "step", "thread"));
      s.reduce_across(part, Axis::block_y, named("parts"));
      s.reduce_across(thread, axis);
      s.reduce_across(s.split<2>(s.loops(s.block("Y")).back(), {infer, 32})[1], axis);
      EXPECT_TRUE(test::same_meaning(s)) << n;
      EXPECT_TRUE(s.obligations().empty()) << s.obligations().front().message << print(s.program());
      EXPECT_TRUE(contains(print(s.program()), "then last block:")) << print(s.program());
    }
}

/// Of blocks that use the result, those after the reduction stay there, at each level of the nest.
TEST(ReduceAcross, KeepsTheReadersOfTheResultAfterIt) {
  Workload w("used");
  Tensor x = w.placeholder("X", {6, 64}, DType::u32);
  Reduce k = reduce_axis("k", 64);
  Tensor m = w.compute("M", {6}, {"i"}, [&](Expr i) { return max_over(x(i, k), k); });
  Tensor y = w.compute("Y", {6}, {"i"}, [&](Expr i) -> Definition { return m(i) + 1; });
  Tensor z = w.compute("Z", {6}, {"i"}, [&](Expr i) -> Definition { return m(i) * 2; });
  Schedule s(w.output({y, z}));
  BlockRef M = s.block("M"), Y = s.block("Y"), Z = s.block("Z");
  auto [outer, inner] = s.split<2>(s.loops(M)[0], {infer, 4}, named("outer", "inner"));
  s.reverse_compute_at(Y, inner);
  s.reverse_compute_at(Z, outer);
  s.set_scope(M, Scope::local);
  s.bind(outer, Axis::block_x);
  s.reduce_across(s.loops(M).back(), Axis::thread_x, named("parts"));
  EXPECT_TRUE(test::same_meaning(s));
  std::vector<std::string> order;
  for (const Block *block : blocks_of(s.program().body))
    order.push_back(block->id->name);
  EXPECT_EQ(order.back(), "Z");
  EXPECT_EQ(order[order.size() - 2], "Y");
  EXPECT_EQ(Schedule::name(s.loops(Y)[1]), "inner");
  EXPECT_EQ(Schedule::name(s.loops(Z)[0]), "outer");
  EXPECT_EQ(s.loops_below(Z, outer).size(), 1U);
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

TEST(ReduceAcrossRefuses, BoundLoopsOfReadersInTheNest) {
  Workload w("used");
  Tensor x = w.placeholder("X", {5, 64});
  Reduce k = reduce_axis("k", 64);
  Tensor m = w.compute("M", {5}, {"i"}, [&](Expr i) { return max_over(x(i, k), k); });
  Schedule s(w.output({w.compute("Y", {5}, {"i"}, [&](Expr i) { return m(i) + Expr(1.0F); })}));
  s.reverse_compute_at(s.block("Y"), s.loops(s.block("M"))[0]);
  s.bind(s.loops(s.block("Y")).back(), Axis::thread_x);
  expect_refused(
      s, "reduce_across.readers", [&] { s.reduce_across(s.loops(s.block("M"))[1], Axis::thread_x); },
      "block Y uses M in the nest of M, and the loop ax_i after the reduction is bound to threadIdx.x; "
      "use reduce_across before bind of the loops after it",
      {"ax_i", "M"});
}

TEST(ReduceAcrossRefuses, ThreadBlocksBelowLoopsThatAreNone) {
  Schedule s(rows(Reducer::max, 5, 64));
  Loop part = s.split<2>(s.loop("k"), {4, infer})[0];
  expect_refused(
      s, "reduce_across.place", [&] { s.reduce_across(part, Axis::block_y); },
      "the loop i around k_outer is serial, but the thread blocks that share a counter must have one "
      "value of each loop around k_outer",
      {"k_outer", "Y"});
}

TEST(ReduceAcrossRefuses, ThreadBlocksAfterThreads) {
  Schedule s(rows(Reducer::max, 5, 128));
  s.bind(s.loop("i"), Axis::block_x);
  auto [outer, inner] = s.split<2>(s.loop("k"), {4, 32}, named("outer", "inner"));
  s.reduce_across(inner, Axis::thread_x);
  expect_refused(
      s, "reduce_across.place", [&] { s.reduce_across(outer, Axis::block_y); },
      "the loop inner_outer around the loops of the reduction of block Y_lane is bound to warp, so its "
      "result belongs to threads and not to a thread block; use reduce_across on a block axis first",
      {"inner_outer", "Y_lane"});
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
