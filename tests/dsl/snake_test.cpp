/// Tests snake: the order of the iterations and the refusals.

#include "dsl/schedule/trace.h"
#include "tests/dsl/support.h"

namespace nestsmith {
namespace {

using test::contains;
using test::expect_refused;
using test::product;

/// C = A*B with tiles of 2 x 3 results. All loops of a tile are unrolled.
struct Unrolling {
  Schedule s{product(4, 7, 5)};
  Loop i_outer, i, j_outer, j, k;

  Unrolling() {
    auto [whole_i, whole_j, whole_k] = s.loops<3>(s.block("C"));
    k = whole_k;
    for (auto [whole, outer, inner, factor] :
         {std::tuple(whole_i, &i_outer, &i, 2), {whole_j, &j_outer, &j, 3}}) {
      auto parts = s.split(whole, std::vector<std::int64_t>{infer, factor});
      *outer = parts[0];
      *inner = parts[1];
    }
    s.reorder({i_outer, j_outer, k, i, j});
    s.unroll(i);
    s.unroll(j);
  }
};

TEST(Snake, ReversesTheInnerLoopInOddIterations) {
  Unrolling t;
  t.s.snake(t.i, t.j);
  EXPECT_TRUE(contains(print(t.s.program()), "for j_inner < 3 unrolled backwards in odd i_inner:"))
      << print(t.s.program());
  EXPECT_TRUE(test::same_meaning(t.s));
  TraceFile file = parse_trace(to_json(trace_file(t.s, {4, 7, 5}, DType::u32)), "t.json");
  EXPECT_EQ(print(replay(file, product(4, 7, 5), Target{}, "t.json").program()), print(t.s.program()));
}

/// The interpreter executes the iterations in the new order, and the result is the same.
TEST(Snake, IsPartOfTheMeaning) {
  Workload w("shift");
  Tensor x = w.inout("X", {2, 3}, DType::u32);
  w.update(x, {"i", "j"}, [&](const std::vector<Expr> &at) -> Definition { return x(at[0], at[1]) * 3 + 1; });
  Schedule s(w.output());
  for (const char *loop : {"i", "j"})
    s.unroll(s.loop(loop));
  s.snake(s.loop("i"), s.loop("j"));
  EXPECT_TRUE(test::same_meaning(s));
}

TEST(Snake, MayHaveLoopsBetween) {
  Unrolling t;
  t.s.unroll(t.k);
  t.s.snake(t.k, t.j);
  EXPECT_TRUE(test::same_meaning(t.s));
}

TEST(SnakeRefuses, LoopsThatAreNotUnrolled) {
  Unrolling t;
  expect_refused(t.s, "snake.unrolled", [&] { t.s.snake(t.k, t.j); },
                 "the loop k is serial, expected an unrolled loop; unroll it first", {"k"});
}

TEST(SnakeRefuses, LoopThatIsReversedOrPipelined) {
  Unrolling t;
  t.s.snake(t.i, t.j);
  expect_refused(t.s, "snake.once", [&] { t.s.snake(t.i, t.j); },
                 "the loop j_inner already runs backwards in odd iterations of i_inner; reverse it once",
                 {"j_inner"});
}

TEST(SnakeRefuses, LoopsInTheWrongOrder) {
  Unrolling t;
  expect_refused(t.s, "snake.nested", [&] { t.s.snake(t.j, t.i); },
                 "the loop i_inner is not below j_inner, and only an outer loop can reverse it",
                 {"j_inner", "i_inner"});
  t.s.snake(t.i, t.j);
  expect_refused(t.s, "snake.nested",
                 [&] {
                   t.s.reorder({t.j, t.i});
                 },
                 "the loop j_inner is not below i_inner, and only an outer loop can reverse it",
                 {"i_inner", "j_inner"});
}

TEST(SnakeRefuses, LoopsOfSeveralBlocks) {
  Schedule s(test::chain(4, 6));
  auto T = s.block("T"), U = s.block("U");
  auto [i, j] = s.loops<2>(U);
  s.compute_at(T, j);
  s.unroll(i);
  s.unroll(j);
  expect_refused(s, "snake.alone", [&, i = i, j = j] { s.snake(i, j); },
                 "contains 2 blocks, and a loop that runs backwards contains exactly one", {s.name(j)});
}

TEST(SnakeRefuses, LoopsWhoseOrderMatters) {
  Unrolling t;
  t.s.unroll(t.k);
  t.s.unroll(t.j_outer);
  expect_refused(t.s, "snake.distinct", [&] { t.s.snake(t.j_outer, t.k); },
                 "the iterations of k do not provably write distinct elements of C", {"k", "C"});
}

} // namespace
} // namespace nestsmith
