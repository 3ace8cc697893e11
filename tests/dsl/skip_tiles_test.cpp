/// Tests skip_tiles: the condition of a tile, for which terms it exists, and the refusals.

#include "dsl/ir/skip_tiles.h"
#include "dsl/schedule/trace.h"
#include "tests/causal.h"
#include "tests/lowering/fragment_gemm.h"

namespace nestsmith {
namespace {

using test::causal_product;
using test::CausalTiles;
using test::contains;
using test::expect_refused;

/// The condition of a loop that skips tiles, as text.
std::string condition_of(const Schedule &s, Loop loop) {
  return to_string(condition_of_iteration(s.program(), *find_loop(s.program().body, loop.var)));
}

TEST(SkipTiles, StatesTheConditionOfATile) {
  CausalTiles t(causal_product(16, 8, 16), 8, 8, 4);
  t.s.skip_tiles(t.k_outer);
  EXPECT_TRUE(contains(print(t.s.program()), "for k_outer < 4 skipping:")) << print(t.s.program());
  EXPECT_EQ(condition_of(t.s, t.k_outer), "k_outer <= i_outer*2 + 1");
  EXPECT_TRUE(test::same_meaning(t.s));
  EXPECT_EQ(test::owed(t.s), "");
  TraceFile file = parse_trace(to_json(trace_file(t.s, {16, 8, 16}, DType::f32)), "t.json");
  EXPECT_EQ(print(replay(file, causal_product(16, 8, 16), Target{}, "t.json").program()), print(t.s.program()));
}

TEST(SkipTiles, KeepsTheOtherFormsOfItsLoop) {
  CausalTiles t(causal_product(32, 24, 32));
  t.s.double_buffer(t.k_outer);
  t.s.partition(t.k_outer);
  t.s.skip_tiles(t.k_outer);
  t.s.unroll_by(t.k_outer, 2);
  EXPECT_TRUE(contains(print(t.s.program()), " partitioned skipping unrolled by 2:")) << print(t.s.program());
}

/// One dimension of terms: Y[i] reduces `term(i, k)` over k.
template <class Term> Schedule reduced(Reducer reducer, DType dtype, const Term &term) {
  Workload work("reduced");
  bool is_pair = reducer.definition();
  Tensor x = work.placeholder("X", {64, 64}, dtype), z = work.placeholder("Z", {64}, dtype);
  Reduce k = reduce_axis("k", 64);
  Tensor y = work.compute("Y", {64}, {"i"}, [&](Expr i) { return reduce(reducer, term(x, z, i, k), k); });
  if (is_pair)
    y = work.compute("first", {64}, {"i"}, [&](Expr i) -> Definition { return part(y(i), 0); });
  Schedule s(work.output({y}));
  auto [i, whole] = s.loops<2>(s.block("Y"));
  auto [block, thread] = s.split<2>(i, {infer, 16});
  auto [outer, inner] = s.split<2>(whole, {infer, 8});
  s.reorder({block, thread, outer, inner});
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  return s;
}

template <class Term> std::string condition_for(Reducer reducer, DType dtype, const Term &term) {
  Schedule s = reduced(reducer, dtype, term);
  Loop loop = s.loop("k_outer");
  s.skip_tiles(loop);
  EXPECT_TRUE(test::same_meaning(s));
  return condition_of(s, loop);
}

TEST(SkipTiles, FollowsTheMaskOfTheTerm) {
  const DType f = DType::f32;
  auto absent_above = [](const Tensor &x, const Tensor &, Expr i, Expr k) { return x.where(k <= i, i, k); };
  EXPECT_EQ(condition_for(Reducer::sum, f, absent_above), "k_outer <= i_outer*2 + 1");
  auto windows = [](const Tensor &x, const Tensor &, Expr i, Expr k) {
    return x.where(k <= i && i < k + 20, i, k);
  };
  EXPECT_EQ(condition_for(Reducer::sum, f, windows), "k_outer <= i_outer*2 + 1 and i_outer*2 <= k_outer + 3");
  auto diagonal = [](const Tensor &x, const Tensor &, Expr i, Expr k) {
    return select(equal(i, k), x(i, k), 0.0);
  };
  EXPECT_EQ(condition_for(Reducer::sum, f, diagonal), "i_outer*2 <= k_outer and k_outer <= i_outer*2 + 1");
  auto outside = [](const Tensor &x, const Tensor &, Expr i, Expr k) {
    return select(!(i < k || k + 40 < i), x(i, k) * x(k, i), 0.0);
  };
  EXPECT_EQ(condition_for(Reducer::sum, f, outside), "k_outer <= i_outer*2 + 1 and i_outer*2 <= k_outer + 5");
  auto two = [](const Tensor &x, const Tensor &z, Expr i, Expr k) {
    return select(k < 8, z(k), 0.0) + x.where(56 <= k, i, k);
  };
  EXPECT_EQ(condition_for(Reducer::sum, f, two), "k_outer <= 0 or 7 <= k_outer");
}

/// What is absent depends on the reducer, and for a product on the dtype.
TEST(SkipTiles, DependsOnTheReducer) {
  auto largest = [](const Tensor &x, const Tensor &, Expr i, Expr k) {
    return x.where_else(k <= i, -test::infinity, i, k);
  };
  EXPECT_EQ(condition_for(Reducer::max, DType::f32, largest), "k_outer <= i_outer*2 + 1");
  auto both = [](const Tensor &x, const Tensor &z, Expr i, Expr k) {
    return x.where(k <= i, i, k) * z.where(k <= i, k);
  };
  EXPECT_EQ(condition_for(Reducer::sum, DType::f32, both), "k_outer <= i_outer*2 + 1");
  auto one = [](const Tensor &x, const Tensor &z, Expr i, Expr k) { return x.where(k <= i, i, k) * z(k); };
  EXPECT_EQ(condition_for(Reducer::sum, DType::u32, one), "k_outer <= i_outer*2 + 1");
  auto ones = [](const Tensor &x, const Tensor &z, Expr i, Expr k) {
    return x.where_else(k <= i, 1, i, k) * z.where_else(k <= i, 1, k);
  };
  EXPECT_EQ(condition_for(Reducer::product, DType::f32, ones), "k_outer <= i_outer*2 + 1");
}

/// A user's reducer of tuples: every part must be that of the identity.
TEST(SkipTiles, OfTheIndexOfAMaximum) {
  auto masked = [](const Tensor &x, const Tensor &, Expr i, Expr k) {
    Expr term = tuple({{"value", x(i, k)}, {"index", cast(DType::i32, k)}});
    Expr none = argmax(DType::f32).definition()->identity;
    return tuple(none.dtype(),
                 {select(k <= i, part(term, 0), part(none, 0)), select(k <= i, part(term, 1), part(none, 1))});
  };
  EXPECT_EQ(condition_for(argmax(DType::f32), DType::f32, masked), "k_outer <= i_outer*2 + 1");
}

/// The mask of a copy is the mask of its readers.
TEST(SkipTiles, ReadsTheMaskOfACopy) {
  Workload work("rows");
  Tensor x = work.placeholder("X", {64, 64});
  Reduce k = reduce_axis("k", 64);
  Tensor y = work.compute("Y", {64}, {"i"},
                          [&](Expr i) { return max_over(x.where_else(k <= i, -test::infinity, i, k), k); });
  Schedule s(work.output({y}));
  BlockRef copy = s.cache_read(s.block("Y"), "X", Scope::shared);
  auto [i, whole] = s.loops<2>(s.block("Y"));
  auto [block, thread] = s.split<2>(i, {infer, 16});
  auto [outer, inner] = s.split<2>(whole, {infer, 8});
  s.reorder({block, thread, outer, inner});
  s.compute_at(copy, outer);
  s.bind(block, Axis::block_x);
  s.bind(thread, Axis::thread_x);
  s.skip_tiles(outer);
  EXPECT_FALSE(contains(to_string(find_block(s.program().body, s.block("Y").id)->body.value), "where"));
  EXPECT_EQ(condition_of(s, outer), "k_outer <= i_outer*2 + 1");
}

/// Sizes that are known only at launch.
TEST(SkipTiles, OfSizes) {
  Workload work("rows");
  Expr n = work.size("N", {.max = 1000}), length = work.size("L", {.max = 1000});
  Tensor x = work.placeholder("X", {n, n});
  Reduce k = reduce_axis("k", n);
  Tensor y = work.compute("Y", {n}, {"i"}, [&](Expr i) { return sum(x.where(k < length, i, k), k); });
  Schedule s(work.output({y}));
  auto [outer, inner] = s.split<2>(s.loops(s.block("Y"))[1], {infer, 8});
  s.skip_tiles(outer);
  EXPECT_TRUE(contains(condition_of(s, outer), "L")) << condition_of(s, outer);
}

TEST(SkipTilesRefuses, LoopsThatAreNotSerial) {
  CausalTiles t(causal_product(32, 24, 32));
  expect_refused(t.s, "skip_tiles.serial", [&] { t.s.skip_tiles(t.i_outer); },
                 "the loop i_outer is bound to blockIdx.y, expected a serial loop", {"i_outer"});
  t.s.skip_tiles(t.k_outer);
  expect_refused(t.s, "skip_tiles.serial", [&] { t.s.skip_tiles(t.k_outer); },
                 "the loop k_outer already skips tiles; call skip_tiles once", {"k_outer"});
  expect_refused(t.s, "unroll.serial", [&] { t.s.unroll(t.k_outer); }, "k_outer", {"k_outer"});
}

TEST(SkipTilesRefuses, LoopsWhosePipelineIsJoined) {
  test::FragmentGemm t(8, 8, 12);
  t.join(2, true);
  expect_refused(
      t.s, "skip_tiles.joined", [&] { t.s.skip_tiles(t.k_outer); },
      "the loop k_inner is joined with k_outer, so that its steps belong to two iterations of k_outer",
      {"k_outer", "k_inner"});
}

TEST(SkipTilesRefuses, ATermThatIsOnlyMultipliedByZero) {
  Schedule s = reduced(Reducer::sum, DType::f32, [](const Tensor &x, const Tensor &z, Expr i, Expr k) {
    return x.where(k <= i, i, k) * z(k);
  });
  expect_refused(
      s, "skip_tiles.absent", [&] { s.skip_tiles(s.loop("k_outer")); },
      "a mask makes one factor 0, but 0 times an infinity or NaN in the other is NaN; choose the whole "
      "term, as in select(k <= i, A(i, k) * B(k, j), 0.0)",
      {"k_outer", "Y"});
}

TEST(SkipTilesRefuses, TermsWithoutAMaskOrWithAnotherFill) {
  Schedule s(test::product(32, 24, 32));
  expect_refused(s, "skip_tiles.absent", [&] { s.skip_tiles(s.loop("k")); }, "it has no mask", {"k", "C"});
  Schedule t = reduced(Reducer::max, DType::f32,
                       [](const Tensor &x, const Tensor &, Expr i, Expr k) { return x.where(k <= i, i, k); });
  expect_refused(t, "skip_tiles.absent", [&] { t.skip_tiles(t.loop("k_outer")); },
                 "where its mask is false, it is not -inf, the identity of max", {"k_outer", "Y"});
  Schedule u = reduced(Reducer::sum, DType::u32, [](const Tensor &x, const Tensor &z, Expr i, Expr k) {
    return select(z(k) < 3, x(i, k), 0);
  });
  expect_refused(u, "skip_tiles.absent", [&] { u.skip_tiles(u.loop("k_outer")); }, "is never absent",
                 {"k_outer", "Y"});
}

TEST(SkipTilesRefuses, AMaskThatExcludesNoWholeTile) {
  CausalTiles t(causal_product(32, 24, 8), 32, 8, 4); // rows of all tiles need all of k
  expect_refused(t.s, "skip_tiles.bounds", [&] { t.s.skip_tiles(t.k_outer); },
                 "block C may have a term in every iteration of k_outer", {"k_outer", "C"});
  Schedule even = reduced(Reducer::sum, DType::f32, [](const Tensor &x, const Tensor &, Expr i, Expr k) {
    return x.where(equal(k % 2, 0), i, k);
  });
  expect_refused(even, "skip_tiles.bounds", [&] { even.skip_tiles(even.loop("k_outer")); },
                 "may have a term in every iteration of k_outer", {"k_outer", "Y"});
}

TEST(SkipTilesRefuses, LoopsThatStoreMoreThanTerms) {
  Schedule s(test::chain(16, 16));
  expect_refused(
      s, "skip_tiles.stores", [&] { s.skip_tiles(s.loops(s.block("U"))[0]); },
      "block U below U_i stores U, which remains after an iteration, and is not the update of a reduction",
      {"U"});
  Workload work("zeros"); // -0.0 + 0.0 is 0.0
  Tensor c = work.inout("C", {16});
  work.update(c, {"i"}, [&](const std::vector<Expr> &at) -> Definition {
    return c(at[0]) + select(at[0] < 8, c(at[0]), 0.0);
  });
  Schedule zeros(work.output());
  Loop outer = zeros.split(zeros.loop("i"), {infer, 4})[0];
  expect_refused(zeros, "skip_tiles.stores", [&] { zeros.skip_tiles(outer); },
                 "is not the update of a reduction", {"C"});
  Schedule whole(causal_product(32, 24, 32));
  auto [i, j, k] = whole.loops<3>(whole.block("C"));
  expect_refused(whole, "skip_tiles.init", [&, j = j] { whole.skip_tiles(j); },
                 "the init of block C executes in each iteration of j, which is no loop of its reduction",
                 {"j", "C"});
  (void)i;
  (void)k;
}

} // namespace
} // namespace nestsmith
